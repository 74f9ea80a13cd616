package io.payrelay.schemas;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import java.sql.Connection;
import java.sql.DriverManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The second run of the tests is of use only where it has the other PostgreSQL. */
@Timeout(90)
@EnabledIfSystemProperty(named = "payrelay.infra", matches = "auto|embedded")
@EnabledIfSystemProperty(named = "payrelay.postgresMajorVersion", matches = "\\d+")
class OldestPostgresIT {

  @Test
  void serverHasTheVersionThatTheBuildNames() throws Exception {
    TestDatabase database = TestInfra.shared().newDatabase();
    try (Connection connection =
        DriverManager.getConnection(database.jdbcUrl(), database.user(), database.password())) {
      assertThat(connection.getMetaData().getDatabaseMajorVersion())
          .isEqualTo(Integer.getInteger("payrelay.postgresMajorVersion"));
    }
  }
}
