"""What every layer uses: arrays, threads and keys, checks of arguments, printed forms, panels of figures."""
