"""Generated pipelines and files on several engines, and what they must agree on."""
