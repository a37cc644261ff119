"""Kafka for real: a broker on this machine, from the jars of Maven Central, and the checks that need one."""
