package io.payrelay.localstack;

/** A fresh database of its own for one test class. */
public record TestDatabase(String name, String jdbcUrl, String user, String password) {}
