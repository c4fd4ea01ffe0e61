// Steps through an explanation. The list of steps is the source of the sentences, and of what is shown at a stop: an
// open run of singles is stepped through, a closed one is a stop of its own. Several explanations may share a page.
(() => {
  "use strict";
  const start = (root) => {
    root.dataset.ready = "";
    const find = (name) => root.querySelector(name);
    const data = JSON.parse(find(".data").textContent);
    const { side, steps } = data, cells = side * side;
    const svg = find(".board svg"), list = find(".list"), slider = find("input"), sentence = find(".sentence");
    const play = find(".play"), every = find(".every"), runs = [...root.querySelectorAll("details")];
    let stops = [], at = 0, timer = 0;

    // ------------------------------------------------------------------ the board

    const layer = (next) => svg.insertBefore(document.createElementNS(svg.namespaceURI, "g"), next);
    const under = layer(svg.querySelector(":scope > :not(.paper, [class*=house])")), over = layer(null);
    const corner = (cell) => [cell % side, Math.floor(cell / side)].map((place) => data.start + place * data.width);
    const text = (x, y, size, role, digit) =>
      `<text class="${role} middle" x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${size}">${digit + 1}</text>`;

    const position = (done) => {
      const filled = data.puzzle.map((digit) => digit - 1), left = new Set(data.left);
      for (const step of steps.slice(0, done)) {
        step.place.forEach(([digit, cell]) => (filled[cell] = digit));
        step.gone.forEach((candidate) => left.delete(candidate));
      }
      return { filled, left };
    };

    const draw = ({ first, count }, heading) => {
      const shown = steps.slice(first, first + count), alone = count === 1;
      const { filled, left } = position(alone ? first : first + count);
      const placed = shown.flatMap((step) => step.place.map((candidate) => candidate[1]));
      const marks = alone ? shown[0] : { cells: count ? { placed } : {}, marked: {}, houses: [], arrows: "" };
      let squares = "", digits = marks.houses.map((name) => data.outlines[name]).join("");
      for (const [role, where] of Object.entries(marks.cells))
        for (const cell of where) {
          const [x, y] = corner(cell);
          squares += `<rect class="${role}" x="${x}" y="${y}" width="${data.width}" height="${data.width}"/>`;
        }
      const roles = new Map();
      for (const [role, where] of Object.entries(marks.marked)) where.forEach((candidate) => roles.set(candidate, role));
      filled.forEach((digit, cell) => {
        if (digit < 0 || data.puzzle[cell]) return;
        const [x, y] = corner(cell);
        digits += text(x + data.width / 2, y + data.middle, data.digit, "filled", digit);
      });
      for (const candidate of left) {
        const digit = Math.floor(candidate / cells), role = roles.get(candidate) || "candidate";
        const [x, y] = corner(candidate % cells), [across, down] = data.spots[digit];
        digits += text(x + across, y + down, data.small, role, digit);
        if (role === "removed")
          digits += `<g transform="translate(${x},${y})">${data.strikes[digit]}</g>`;
      }
      under.innerHTML = squares;
      over.innerHTML = digits + marks.arrows;
      const rows = data.puzzle.flatMap((_, cell) => (cell % side ? [] : [filled.slice(cell, cell + side)]));
      const told = rows.map((row, number) => `Row ${number + 1}: ${row.map((digit) => (digit < 0 ? "blank" : digit + 1)).join(" ")}.`);
      svg.setAttribute("aria-label", `${heading} ${told.join(" ")}`);
      const present = new Set([...Object.keys(marks.cells), ...roles.values()]);
      if (marks.houses.length) present.add("house");
      for (const role of ["arrow", "dashed-arrow"]) if (marks.arrows.includes(`"${role}"`)) present.add(role);
      if (present.has("arrow") && !present.has("dashed-arrow")) present.add("follows").delete("arrow");
      root.querySelectorAll(".legend li").forEach((item) => (item.hidden = !present.has(item.dataset.role)));
    };

    // ------------------------------------------------------------------ stops

    const gather = () => {
      const before = stops[at];
      stops = [{ first: 0, count: 0 }];
      for (const item of list.children) {
        const run = item.querySelector("details"), inner = run ? [...run.querySelectorAll("li")] : [item];
        if (run && !run.open) stops.push({ first: inner[0].value - 1, count: inner.length, item });
        else inner.forEach((step) => stops.push({ first: step.value - 1, count: 1, item: step }));
      }
      stops.push({ first: steps.length, count: 0, end: true });
      slider.max = stops.length - 1;
      every.setAttribute("aria-pressed", runs.every((run) => run.open));
      if (!before) return 0;
      if (before.end) return stops.length - 1;
      return stops.findIndex((stop) => (before.item ? stop.first + stop.count > before.first : true));
    };

    const show = (number) => {
      at = Math.max(0, Math.min(number, stops.length - 1));
      const { first, count, item, end } = stops[at], of = `of ${steps.length}`;
      const name = item ? (count > 1 ? `Steps ${first + 1} to ${first + count} ${of}` : `Step ${first + 1} ${of}`) : end ? "End" : "Start";
      const told = item ? (count > 1 ? `${count} singles fill the green cells.` : item.querySelector(".text").textContent) : data[end ? "end" : "begin"];
      sentence.replaceChildren(Object.assign(document.createElement("b"), { textContent: `${name}: ` }), told);
      slider.value = at;
      slider.setAttribute("aria-valuetext", name);
      root.querySelectorAll("[aria-current]").forEach((old) => old.removeAttribute("aria-current"));
      if (item) {
        item.setAttribute("aria-current", "step");
        list.scrollTop += item.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 3;
      } else list.scrollTop = end ? list.scrollHeight : 0;
      draw(stops[at], `${name}.`);
    };

    // ------------------------------------------------------------------ play, keys, clicks

    const named = (name) => {
      play.classList.toggle("playing", name === "Pause");
      play.setAttribute("aria-label", name);
      play.title = name;
    };
    const pause = () => {
      clearTimeout(timer);
      timer = 0;
      named("Play");
    };
    const wait = () => {
      timer = setTimeout(() => {
        show(at + 1);
        if (at < stops.length - 1) wait();
        else pause();
      }, Math.min(1000 + 30 * sentence.textContent.length, 9000));
    };
    const toggle = () => {
      if (timer) return pause();
      if (at === stops.length - 1) show(0);
      named("Pause");
      wait();
    };
    const go = (number) => {
      pause();
      show(number);
    };
    const moves = { first: () => 0, back: () => at - 1, next: () => at + 1, last: () => stops.length - 1 };
    const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" };

    play.addEventListener("click", toggle);
    slider.addEventListener("input", () => go(+slider.value));
    every.addEventListener("click", () => {
      const open = !runs.every((run) => run.open);
      runs.forEach((run) => (run.open = open));
      show(gather());
    });
    root.querySelectorAll("[data-go]").forEach((button) =>
      button.addEventListener("click", () => go(moves[button.dataset.go]()))
    );
    list.addEventListener("click", (event) => {
      if (event.target.closest("summary") || !getSelection().isCollapsed) return;
      const number = stops.findIndex((stop) => stop.item && stop.item === event.target.closest("li"));
      if (number > 0) go(number);
    });
    root.addEventListener("toggle", () => show(gather()), true);
    (root.dataset.keys === "page" ? document : root).addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (event.key === " " && !event.target.closest("button, summary")) toggle();
      else if (event.key in keys && !(event.target.closest(".list") && event.key.length < 5)) go(moves[keys[event.key]]());
      else return;
      event.preventDefault();
      event.stopPropagation();
    });

    root.querySelectorAll("[hidden]").forEach((part) => (part.hidden = false));
    every.hidden = !runs.length;
    gather();
    show(0);
  };
  document.querySelectorAll(".jaxsudoku-steps:not([data-ready])").forEach(start);
})();
