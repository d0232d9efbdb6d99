"""Graphics cards: memory, driver, faults."""
