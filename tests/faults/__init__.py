"""Faults for real: processes of a streaming query are killed, its functions fail, its checkpoint is damaged."""
