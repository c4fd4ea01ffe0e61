"""Settings, files, locks, devices, processes, random numbers and progress: whatever knows of no puzzle."""
