"""Benchmarks of Kafka: Spark against its own operators from topic to topic, and the local engine's speed."""
