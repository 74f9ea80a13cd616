package io.payrelay.systemtests;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.Architectures;
import io.payrelay.relay.RelayFaults;
import java.time.Instant;

/** ARCHITECTURE.md: dependencies go one way, the core is pure, the plumbing stays at the edges. */
@AnalyzeClasses(packages = "io.payrelay", importOptions = ImportOption.DoNotIncludeTests.class)
final class ArchitectureTest {

  @ArchTest
  static final ArchRule dependenciesGoOneWay =
      Architectures.layeredArchitecture()
          .consideringOnlyDependenciesInLayers()
          .layer("schemas")
          .definedBy("io.payrelay.schemas..")
          .layer("platform")
          .definedBy("io.payrelay.platform..")
          .layer("payments")
          .definedBy("io.payrelay.payments..")
          .layer("providers")
          .definedBy("io.payrelay.providers..")
          .layer("relay")
          .definedBy("io.payrelay.relay..")
          .layer("charge-worker")
          .definedBy("io.payrelay.chargeworker..")
          .layer("webhook-ingest")
          .definedBy("io.payrelay.webhook..")
          .layer("app")
          .definedBy("io.payrelay.app..")
          .layer("local-stack")
          .definedBy("io.payrelay.localstack..")
          .layer("simulator")
          .definedBy("io.payrelay.simulator..")
          .layer("workbench")
          .definedBy("io.payrelay.workbench..")
          .whereLayer("workbench")
          .mayNotBeAccessedByAnyLayer()
          .whereLayer("local-stack")
          .mayOnlyBeAccessedByLayers("workbench")
          .whereLayer("simulator")
          .mayOnlyBeAccessedByLayers("workbench")
          .whereLayer("app")
          .mayOnlyBeAccessedByLayers("workbench")
          .whereLayer("relay")
          .mayOnlyBeAccessedByLayers("app", "workbench")
          .whereLayer("charge-worker")
          .mayOnlyBeAccessedByLayers("app", "workbench")
          .whereLayer("webhook-ingest")
          .mayOnlyBeAccessedByLayers("app", "workbench")
          .whereLayer("providers")
          .mayOnlyBeAccessedByLayers("charge-worker", "webhook-ingest", "app", "workbench")
          .whereLayer("payments")
          .mayOnlyBeAccessedByLayers(
              "providers", "charge-worker", "webhook-ingest", "app", "workbench")
          .whereLayer("schemas")
          .mayNotAccessAnyLayer()
          .whereLayer("platform")
          .mayNotAccessAnyLayer();

  @ArchTest
  static final ArchRule theRelayNeverSeesPayments =
      noClasses()
          .that()
          .resideInAPackage("io.payrelay.relay..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.payrelay.payments..", "io.payrelay.providers..")
          .because("it moves events and must not grow business logic");

  @ArchTest
  static final ArchRule onlyTheWorkbenchMakesTheRelayFail =
      noClasses()
          .that()
          .resideOutsideOfPackages("io.payrelay.workbench..")
          .should()
          .implement(RelayFaults.class)
          .because("no setting of production may reach a fault");

  @ArchTest
  static final ArchRule nothingInAWebhookMakesUsCallOut =
      noClasses()
          .that()
          .haveNameMatching(
              "io\\.payrelay\\.(webhook\\..*"
                  + "|providers\\..*(Webhook|Hmac|Stripe(Signatures|Facts|Amounts|Metadata)).*)")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("java.net.http..")
          .orShould()
          .dependOnClassesThat()
          .haveNameMatching("java\\.net\\.(Http.*|Socket|URL|URLConnection|InetAddress)")
          .because("a certificate or callback that a request names would be fetched for anybody");

  @ArchTest
  static final ArchRule theCoreIsPure =
      noClasses()
          .that()
          .resideInAnyPackage(
              "io.payrelay.payments.money..",
              "io.payrelay.payments.ledger..",
              "io.payrelay.payments.lifecycle..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "java.sql..",
              "org.jdbi..",
              "org.apache.kafka..",
              "org.slf4j..",
              "java.net..",
              "io.payrelay.platform..",
              "io.payrelay.schemas..",
              "io.payrelay.payments.store..");

  @ArchTest
  static final ArchRule noCyclesBetweenPackages =
      slices().matching("io.payrelay.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule onlyEntryPointsEndTheProcess =
      noClasses()
          .that()
          .haveSimpleNameNotEndingWith("Main")
          .should()
          .callMethod(System.class, "exit", int.class);

  @ArchTest
  static final ArchRule timeComesFromOutside =
      noClasses()
          .that(
              com.tngtech.archunit.base.DescribedPredicate.not(
                  resideInAPackage("io.payrelay.workbench..")))
          .should()
          .callMethod(Instant.class, "now")
          .orShould()
          .callMethod(System.class, "currentTimeMillis")
          .because("a test has to be able to set the clock");

  @ArchTest
  static final ArchRule onlyTheCommandLineWritesToTheConsole =
      noClasses()
          .that()
          .resideOutsideOfPackages("io.payrelay.app..", "io.payrelay.workbench..")
          .should()
          .accessField(System.class, "out")
          .orShould()
          .accessField(System.class, "err");

  @ArchTest
  static final ArchRule noOtherLogging =
      noClasses().should().dependOnClassesThat().resideInAPackage("java.util.logging..");

  @ArchTest
  static final ArchRule namesSayWhatAClassIs =
      classes()
          .should()
          .haveSimpleNameNotEndingWith("Impl")
          .andShould()
          .haveSimpleNameNotEndingWith("Manager")
          .andShould()
          .haveSimpleNameNotEndingWith("Helper")
          .andShould()
          .haveSimpleNameNotEndingWith("Util")
          .andShould()
          .haveSimpleNameNotEndingWith("Utils");

  @ArchTest
  static final ArchRule nothingSleeps =
      noClasses()
          .should()
          .callMethod(Thread.class, "sleep", long.class)
          .because("a condition can be awaited");
}
