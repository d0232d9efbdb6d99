"""The findings in sentences: evidence, what was ruled out, the story of the memory, the chart."""
