"""The subjects of the watch, one a file. `watcher` puts them together."""
