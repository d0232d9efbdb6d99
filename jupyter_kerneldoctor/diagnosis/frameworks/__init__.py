"""What frameworks do, as far as it matters to memory: knowledge that all fixes share, and no fix of its own."""
