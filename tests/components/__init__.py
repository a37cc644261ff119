"""The components that checks need: processes, PostgreSQL, a broker of Kafka, a cluster of Spark, and jars of Maven."""
