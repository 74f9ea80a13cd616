# Two images: `apps` is production, without simulator, local stack and broker; `workbench` is for trying.
FROM maven:3.9-eclipse-temurin-17 AS build
WORKDIR /src
COPY . .
RUN mvn -B -ntp -q -Pquick,'!checks' -pl app,workbench -am package

FROM eclipse-temurin:17-jre AS base
RUN useradd --system --uid 10001 payrelay
WORKDIR /payrelay
ENV JAVA_TOOL_OPTIONS="-XX:MaxRAMPercentage=60 -XX:+ExitOnOutOfMemoryError"
USER payrelay

FROM base AS apps
COPY --from=build /src/app/target/lib/ lib/
COPY --from=build /src/app/target/payrelay-app-*.jar lib/
ENTRYPOINT ["java", "-cp", "/payrelay/lib/*", "io.payrelay.app.PayrelayMain"]

FROM base AS workbench
COPY --from=build /src/workbench/target/lib/ lib/
COPY --from=build /src/workbench/target/payrelay-workbench-*.jar lib/
ENTRYPOINT ["java", "-cp", "/payrelay/lib/*", "io.payrelay.workbench.WorkbenchMain"]
