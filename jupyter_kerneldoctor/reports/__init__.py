"""What the command line and the server both show: post-mortems and the threads of a running kernel, as documents."""
