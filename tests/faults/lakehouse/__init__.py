"""Delta and Iceberg for real, in environments with the versions of Spark for which they have jars."""
