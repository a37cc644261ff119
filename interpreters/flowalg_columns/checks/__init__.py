"""What every engine of tables rejects before it runs a pipeline, with the same words."""
