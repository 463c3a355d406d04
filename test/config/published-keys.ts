/**
 * Keys that Spring Boot, Spinnaker's libraries and Gate document, each as an operator may find it in a file of a Gate. The
 * configuration of a gateway has to take them: some count, and the others are passed over by name.
 */

const at = (prefix: string, names: string): string[] =>
  names
    .trim()
    .split(/\s+/)
    .map((name) => `${prefix}.${name}`)

/** Spring Boot, all generations since 1.2. */
export const springKeys = [
  ...at(
    'server',
    `port address context-path servlet-path display-name server-header max-http-header-size max-http-request-header-size
     max-http-post-size connection-timeout use-forward-headers forward-headers-strategy shutdown context-parameters.a
     compression.enabled compression.mime-types compression.min-response-size compression.excluded-user-agents
     error.path error.whitelabel.enabled error.include-stacktrace error.include-message error.include-exception
     error.include-binding-errors error.include-path http2.enabled mime-mappings.a jsp-servlet.registered
     session.timeout session.timeoutInSeconds session.persistent session.store-dir session.tracking-modes
     session.cookie.name session.cookie.domain session.cookie.path session.cookie.comment session.cookie.http-only
     session.cookie.secure session.cookie.max-age reactive.session.timeout reactive.session.cookie.name
     servlet.context-path servlet.path servlet.application-display-name servlet.context-parameters.a
     servlet.register-default-servlet servlet.encoding.charset servlet.encoding.enabled servlet.encoding.force
     servlet.jsp.registered servlet.session.timeout servlet.session.persistent servlet.session.store-dir
     servlet.session.tracking-modes servlet.session.cookie.name servlet.session.cookie.domain servlet.session.cookie.path
     servlet.session.cookie.comment servlet.session.cookie.http-only servlet.session.cookie.secure
     servlet.session.cookie.max-age servlet.session.cookie.same-site servlet.session.cookie.partitioned
     ssl.enabled ssl.bundle ssl.certificate ssl.certificate-private-key ssl.ciphers ssl.client-auth ssl.enabled-protocols
     ssl.key-alias ssl.key-password ssl.key-store ssl.key-store-password ssl.key-store-provider ssl.key-store-type
     ssl.protocol ssl.server-name-bundles[0].bundle ssl.trust-certificate ssl.trust-certificate-private-key ssl.trust-store
     ssl.trust-store-password ssl.trust-store-provider ssl.trust-store-type ssl.crlFile
     tomcat.accept-count tomcat.accesslog.enabled tomcat.accesslog.pattern tomcat.additional-tld-skip-patterns
     tomcat.background-processor-delay tomcat.basedir tomcat.connection-timeout tomcat.internal-proxies
     tomcat.keep-alive-timeout tomcat.max-connections tomcat.max-http-form-post-size tomcat.max-http-header-size
     tomcat.max-http-post-size tomcat.max-http-response-header-size tomcat.max-keep-alive-requests
     tomcat.max-parameter-count tomcat.max-part-count tomcat.max-swallow-size tomcat.max-threads tomcat.mbeanregistry.enabled
     tomcat.min-spare-threads tomcat.port-header tomcat.processor-cache tomcat.protocol-header
     tomcat.protocol-header-https-value tomcat.redirect-context-root tomcat.reject-illegal-header
     tomcat.relaxed-path-chars tomcat.relaxed-query-chars tomcat.remote-ip-header tomcat.remoteip.host-header
     tomcat.remoteip.internal-proxies tomcat.remoteip.port-header tomcat.remoteip.protocol-header
     tomcat.remoteip.protocol-header-https-value tomcat.remoteip.remote-ip-header tomcat.remoteip.trusted-proxies
     tomcat.resource.allow-caching tomcat.threads.max tomcat.threads.min-spare tomcat.uri-encoding
     tomcat.use-relative-redirects jetty.max-http-form-post-size jetty.threads.max netty.connection-timeout
     undertow.max-http-post-size undertow.threads.io`,
  ),
  ...at(
    'spring',
    `application.name application.admin.enabled aop.auto aop.proxy-target-class autoconfigure.exclude banner.location
     cache.type cloud.config.enabled cloud.config.uri cloud.config.server.bootstrap cloud.discovery.enabled
     cloud.kubernetes.enabled cloud.vault.uri codec.max-in-memory-size config.import config.location config.name
     config.additional-location config.activate.on-profile config.activate.on-cloud-platform data.redis.host
     data.redis.port data.redis.password data.redis.url data.redis.ssl.enabled data.web.pageable.max-page-size
     devtools.restart.enabled groovy.template.enabled http.converters.preferred-json-mapper http.encoding.charset
     http.multipart.max-file-size jackson.date-format jackson.default-property-inclusion
     jackson.mapper.SORT_PROPERTIES_ALPHABETICALLY jackson.serialization.ORDER_MAP_ENTRIES_BY_KEYS
     jackson.deserialization.FAIL_ON_UNKNOWN_PROPERTIES jmx.enabled ldap.urls ldap.base lifecycle.timeout-per-shutdown-phase
     main.allow-bean-definition-overriding main.allow-circular-references main.banner-mode main.keep-alive
     main.lazy-initialization main.web-application-type mandatory-file-encoding messages.basename mvc.async.request-timeout
     mvc.contentnegotiation.favor-parameter mvc.dispatch-options-request mvc.favicon.enabled
     mvc.log-request-details mvc.pathmatch.matching-strategy mvc.pathmatch.use-suffix-pattern mvc.problemdetails.enabled
     mvc.servlet.path mvc.static-path-pattern mvc.throw-exception-if-no-handler-found output.ansi.enabled pid.file
     profiles profiles.active profiles.default profiles.group.a profiles.include profiles.validate redis.host redis.port
     redis.password redis.url redis.ssl redis.timeout redis.jedis.pool.max-active resources.add-mappings
     security.filter.order security.filter.dispatcher-types security.user.name security.user.password security.user.roles
     security.oauth2.client.registration.a.client-id security.oauth2.client.registration.a.client-secret
     security.oauth2.client.registration.a.client-name security.oauth2.client.registration.a.provider
     security.oauth2.client.registration.a.scope security.oauth2.client.registration.a.redirect-uri
     security.oauth2.client.registration.a.redirect-uri-template security.oauth2.client.registration.a.pkce
     security.oauth2.client.registration.a.authorization-grant-type
     security.oauth2.client.registration.a.client-authentication-method
     security.oauth2.client.registration.a.provider-requirements.type
     security.oauth2.client.registration.a.provider-requirements.organization
     security.oauth2.client.registration.userInfoMapping.email
     security.oauth2.client.registration.userInfoRequirements.hd security.oauth2.client.provider.a.authorization-uri
     security.oauth2.client.provider.a.token-uri security.oauth2.client.provider.a.user-info-uri
     security.oauth2.client.provider.a.user-info-authentication-method
     security.oauth2.client.provider.a.user-name-attribute security.oauth2.client.provider.a.jwk-set-uri
     security.oauth2.client.provider.a.issuer-uri security.oauth2.resourceserver.jwt.issuer-uri
     security.oauth2.resourceserver.jwt.jwk-set-uri security.oauth2.resourceserver.opaquetoken.introspection-uri
     security.oauth2.authorizationserver.issuer
     security.saml2.relyingparty.registration.a.entity-id security.saml2.relyingparty.registration.a.acs.location
     security.saml2.relyingparty.registration.a.acs.binding security.saml2.relyingparty.registration.a.name-id-format
     security.saml2.relyingparty.registration.a.assertingparty.metadata-uri
     security.saml2.relyingparty.registration.a.assertingparty.entity-id
     security.saml2.relyingparty.registration.a.assertingparty.singlesignon.url
     security.saml2.relyingparty.registration.a.assertingparty.singlelogout.url
     security.saml2.relyingparty.registration.a.identityprovider.metadata-uri
     security.saml2.relyingparty.registration.a.signing.credentials[0].private-key-location
     security.saml2.relyingparty.registration.a.decryption.credentials[0].certificate-location
     security.saml2.relyingparty.registration.a.singlelogout.url
     security.saml2.relyingparty.registration.a.singlelogout.binding
     servlet.multipart.enabled servlet.multipart.max-file-size servlet.multipart.max-request-size session.store-type
     session.timeout session.redis.namespace session.redis.flush-mode session.servlet.filter-order sleuth.enabled
     ssl.bundle.pem.a.keystore.certificate task.execution.pool.max-size task.scheduling.pool.size thymeleaf.cache
     threads.virtual.enabled web.locale web.resources.add-mappings webflux.base-path ai.mcp.server.protocol zipkin.enabled`,
  ),
  ...at(
    'management',
    `address port context-path add-application-context-header server.port server.address server.base-path
     server.ssl.enabled security.enabled security.roles endpoints.enabled-by-default endpoints.web.base-path
     endpoints.web.exposure.include endpoints.web.exposure.exclude endpoints.web.cors.allowed-origins
     endpoints.jmx.exposure.include endpoint.health.enabled endpoint.health.show-details endpoint.health.probes.enabled
     endpoint.health.group.readiness.include endpoint.prometheus.enabled endpoint.shutdown.enabled health.defaults.enabled
     health.redis.enabled health.elasticsearch.enabled health.ldap.enabled health.diskspace.threshold info.git.mode
     metrics.enable.all metrics.export.prometheus.enabled metrics.export.datadog.api-key metrics.tags.application
     metrics.distribution.percentiles-histogram.http otlp.metrics.export.url otlp.tracing.endpoint
     prometheus.metrics.export.enabled tracing.enabled tracing.sampling.probability zipkin.tracing.endpoint
     observations.http.server.requests.name httpexchanges.recording.enabled trace.http.enabled`,
  ),
  ...at('endpoints', 'enabled sensitive health.sensitive metrics.enabled shutdown.enabled'),
  ...at(
    'logging',
    `config file file.name file.path file.max-size path level.root level.com.netflix.spinnaker level.web group.a
     pattern.console pattern.file pattern.level pattern.dateformat charset.console exception-conversion-word
     register-shutdown-hook logback.rollingpolicy.max-history structured.format.console threshold.console`,
  ),
  ...at('springdoc', 'api-docs.enabled api-docs.path swagger-ui.enabled swagger-ui.path'),
  ...at('info', 'app.name build.version'),
  'debug',
  'trace',
]

/** Spinnaker's own libraries. */
export const korkKeys = [
  ...at(
    'okHttpClient',
    `connectTimeoutMs connectTimoutMs readTimeoutMs maxRequests maxRequestsPerHost propagateSpinnakerHeaders keyStore
     keyStoreType keyStorePassword trustStore trustStoreType trustStorePassword secureRandomInstanceType tlsVersions
     cipherSuites connectionPool.maxIdleConnections connectionPool.keepAliveDurationMs retryOnConnectionFailure
     refreshableKeys.enabled refreshableKeys.refreshPeriod additionalHeaders`,
  ),
  ...at(
    'ok-http-client',
    'connect-timeout-ms read-timeout-ms metrics-interceptor.skip-header-check interceptor.skip-header-check interceptor.header-check-pattern',
  ),
  ...at(
    'default',
    `apiPort legacyServerPort legacyServerPortAuth relaxedQueryCharacters relaxedPathCharacters tlsVersions cipherSuites
     rejectIllegalHeader timezone security.trustStore account.env vpc.securityGroups`,
  ),
  ...at('ssl', 'blocklist.enabled'),
  ...at('retrofit', 'enabled logLevel timeoutMs'),
  ...at('retrofit2', 'logLevel'),
  ...at('interceptors', 'responseHeader.fields'),
  ...at('dynamic-config', 'enabled'),
  ...at('dynamicConfig', 'enabled'),
  ...at(
    'spinnaker',
    `config.remote.enabled extensibility.plugins.a.enabled extensibility.repositories.a.url extensibility.framework.name
     extensibility.deck-proxy.enabled extensibility.deck-proxy.plugins.a.enabled extensibility.remote-plugins.cache.enabled
     extensibility.plugins-root-path extensions.applicationName yaml.codePointLimit`,
  ),
  ...at('secrets', 'vault.url vault.authMethod aws.region gcs.bucket'),
  ...at('kubernetes', 'accounts[0].name'),
  ...at('spectator', 'applicationName webEndpoint.enabled stackdriver.enabled'),
  ...at('hystrix', 'command.default.execution.timeout.enabled threadpool.default.coreSize'),
  ...at(
    'resilience4j',
    'circuitbreaker.instances.a.slidingWindowSize retry.instances.a.maxAttempts',
  ),
  ...at('eureka', 'enabled client.enabled instance.hostname'),
  ...at('netflix', 'atlas.enabled'),
  ...at(
    'redis',
    'connection timeout configuration.secure useRelaxedHealthIndicator poolConfig.maxTotal cluster-enabled',
  ),
  ...at('redis.clients', 'default.driver default.config.connection'),
  ...at('jackson', 'stream-read-constraints.max-string-length'),
  ...at(
    'authz',
    'strict enabled token.ttl token.issuer roles.mergeExternalRoles gate.adminRoles gate.roleCacheTtl',
  ),
  ...at(
    'authz',
    'signing.activeKeyId signing.keys[0] verifier.connectTimeoutMillis s2s.enabled pdp.provider runas.enabled service-accounts.filter.enabled',
  ),
  ...at('observability', 'enabled config.metrics.prometheus.enabled'),
  ...at('armory', 'newrelic.enabled'),
  ...at('telemetry', 'enabled instanceId endpoint spinnakerVersion deploymentMethod.type'),
  ...at('stats', 'enabled endpoint instanceId'),
  ...at('pubsub', 'enabled google.enabled'),
  ...at('sql', 'enabled connectionPool.jdbcUrl'),
  ...at('artifact-store', 'type s3.enabled'),
  ...at('swagger', 'enabled title description contact patterns'),
  ...at('features', 'experimental'),
]

/** Gate itself, from the files that it ships, its classes and its guides. */
export const gateKeys = [
  ...at(
    'services.orca',
    'baseUrl enabled shards.baseUrl shards.baseUrls[0].baseUrl host port protocol priority config.a vipAddress',
  ),
  ...at(
    'services.front50',
    'canaryConfigStore applicationRefreshIntervalMs applicationRefreshInitialDelayMs config.includedAccounts',
  ),
  ...at(
    'services.clouddriver',
    'baseUrl config.dynamicEndpoints.deck shards.baseUrls[0].config.selectorClass',
  ),
  ...at(
    'services.rosco',
    'enabled baseUrl defaults.bakeOptions[0].cloudProvider defaults.useDefaultBakeOptions',
  ),
  ...at(
    'services.fiat',
    `enabled baseUrl cache.maxEntries cache.expiresAfterWriteSeconds retry.initialBackoffMillis retry.retryMultiplier
     retry.maxBackoffMillis legacyFallback refreshable config.dynamicEndpoints.login connectTimeoutMs readTimeoutMs
     grantedAuthorities.enabled`,
  ),
  ...at('services.kayenta', 'enabled baseUrl canaryConfigStore externalhttps'),
  ...at('services.deck', 'baseUrl redirectHostPattern'),
  ...at('services.echo', 'enabled baseUrl'),
  ...at(
    'services',
    'igor.enabled keel.enabled mahe.enabled mine.enabled flapjack.enabled swabbie.enabled flex.enabled gate.baseUrl',
  ),
  ...at(
    'fiat',
    'enabled session-filter.enabled service-accounts.filter.enabled service-accounts.filter.match-authorizations',
  ),
  ...at('fiat', 'legacyFallback.enabled grantedAuthorities.enabled'),
  ...at(
    'cors',
    'allow-mode allowMode allowed-origins allowedOriginsPattern allowed-origins-pattern expectLocalhost',
  ),
  ...at(
    'x509',
    'enabled subjectPrincipalRegex subject-principal-regex roleOid requiredRoles loginDebounce.enabled',
  ),
  ...at('x509', 'loginDebounce.debounceWindowSeconds'),
  ...at(
    'ldap',
    `enabled url managerDn managerPassword userDnPattern userSearchBase userSearchFilter groupSearchBase groupSearchFilter
     groupRoleAttributes`,
  ),
  ...at(
    'saml',
    `enabled metadataUrl keyStore keyStoreType keyStorePassword keyStoreAliasName redirectProtocol redirectHostname
     redirectBasePath issuerId maxAuthenticationAge requiredRoles sortRoles forceLowercaseRoles signatureDigest
     registrationId loginProcessingUrl signRequests signingCredentials[0].privateKeyLocation
     userAttributeMapping.firstName userAttributeMapping.lastName userAttributeMapping.roles
     userAttributeMapping.rolesDelimiter userAttributeMapping.username userAttributeMapping.email`,
  ),
  ...at(
    'google.iap',
    'enabled jwtHeader issuerId audience iapVerifyKeyUrl issuedAtTimeAllowedSkew expirationTimeAllowedSkew',
  ),
  ...at('header', 'enabled serviceAccountCacheTimeoutMinutes'),
  ...at(
    'security',
    'basicform.enabled user.name user.password webhooks.defaultAuthEnabled debug csrf.enabled headers.hsts.enabled',
  ),
  ...at('security.basic', 'enabled'),
  ...at('security.contentSecurityPolicy', 'enabled'),
  ...at(
    'security.oauth2',
    'client.clientId client.clientSecret client.scope resource.userInfoUri userInfoMapping.email',
  ),
  ...at(
    'security.oauth2',
    'userInfoRequirements.hd providerRequirements.type providerRequirements.organization enabled',
  ),
  ...at(
    'security.authn',
    'enabled oauth2.enabled saml.enabled ldap.enabled x509.enabled iap.enabled',
  ),
  ...at('content', 'cachingFilter.enabled'),
  ...at('content-security-policy', 'enabled'),
  ...at('url-handler', 'trailingSlash.enabled'),
  ...at(
    'rate-limit',
    'enabled learning capacity rateSeconds redis.enabled filterOrder enforcing[0] ignoring[0]',
  ),
  ...at(
    'rate-limit',
    'capacityByPrincipal[0].principal capacityBySourceApp[0].sourceApp rateSecondsByPrincipal[0].override',
  ),
  ...at('requestShedding', 'enabled paths chance'),
  ...at('request-logging', 'enabled'),
  ...at('requestLogging', 'enabled'),
  ...at('dynamic-routing', 'enabled clouddriver.enabled'),
  ...at('task-service', 'maxNumberOfPolls defaultIntervalBetweenPolls'),
  ...at(
    'controller.pipeline',
    'bulksave.maxPollsForTaskCompletion bulksave.taskCompletionCheckIntervalMs',
  ),
  ...at('gate', 'execution.fetch.limit'),
  ...at('application', 'useFront50AsSourceOfTruth'),
  ...at(
    'insights',
    'serverGroup[0].url instance[0].label loadBalancer[0].cloudProvider job[0].url',
  ),
  ...at('slack', 'token baseUrl channelRefreshIntervalMillis'),
  ...at('pager-duty', 'token baseUrl'),
  ...at('pagerDuty', 'token'),
  ...at('integrations', 'gremlin.enabled gremlin.baseUrl'),
  ...at('global-banner', 'enabled redis-key-prefix refresh-interval-ms max-message-length'),
  ...at('mcp.server', 'enabled read-only audit-log-size audit-echo-events'),
  ...at(
    'api-tokens',
    'enabled token-prefix redis-key-prefix allowed-minting-roles max-user-token-lifetime-days',
  ),
  ...at('fleet', 'enabled global-base-url instance-id exempt-paths[0]'),
  ...at('proxies', '[0].id [0].uri [0].methods'),
  ...at('authz.service-accounts', 'filter.enabled filter.match-authorizations'),
  ...at('provided-id-request-filter', 'enabled headers'),
  ...at('stackdriver', 'hints'),
  ...at(
    'auth',
    'groupMembership.service group-membership.service permissions.provider.application',
  ),
  'healthCheckableServices',
  'azureTenantId',
]
