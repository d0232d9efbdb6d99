"""What the sidecar observes, one subject a file. `watcher` puts them together."""
