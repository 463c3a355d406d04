/** Configurations as installations have them, in shapes of Halyard, the operator, kustomize, workshops, vendors and hands. */

export interface ConfigurationSet {
  /** Content by name of a file in `config/`. */
  readonly files: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** Keys or files without effect, each of which the start names. */
  readonly names?: readonly string[]
  /** The one sentence of what does not start. */
  readonly says?: RegExp
}

/** Names are separated by blanks. */
const starts = (file: string, yaml: string, names = ''): ConfigurationSet => ({
  files: { [file]: yaml },
  names: names.split(' ').filter((name) => name !== ''),
})
const refused = (file: string, yaml: string, says: RegExp): ConfigurationSet => ({
  files: { [file]: yaml },
  says,
})
const inGate = (yaml: string, names?: string) => starts('gate-local.yml', yaml, names)
/** Blocks that other services read, in the file that all of them share. */
const shared = (yaml: string, names: string) => starts('spinnaker-local.yml', yaml, names)
/** Blocks of other services in the file of the embedded back ends. */
const own = (yaml: string, names: string) => starts('fairlead.yml', yaml, names)

const clusters = (accounts: string) =>
  `kubernetes:\n  enabled: true\n  accounts: [${accounts}]\n  primaryAccount: prod\n`
const account = (keys: string) => clusters(`{name: prod, kubeconfigFile: kc, ${keys}}`)
const ofCluster = (keys: string, names = '') =>
  own(account(keys), `kubernetes.primaryAccount ${names}`)

const halyardServices = `services:
  clouddriver: {baseUrl: 'http://spin-clouddriver.spinnaker:7002', enabled: true, host: 0.0.0.0}
  clouddriverCaching: {baseUrl: 'http://spin-clouddriver-caching.spinnaker:7002', enabled: false}
  clouddriverRo: {baseUrl: 'http://spin-clouddriver-ro.spinnaker:7002', enabled: false}
  deck: {baseUrl: 'http://localhost:9000', host: 0.0.0.0, enabled: true}
  echo: {baseUrl: 'http://spin-echo.spinnaker:8089', enabled: true}
  fiat: {baseUrl: 'http://spin-fiat.spinnaker:7003', enabled: false}
  front50: {baseUrl: 'http://spin-front50.spinnaker:8080', enabled: true}
  gate: {baseUrl: 'http://localhost:8084', host: 0.0.0.0, port: 8084, enabled: true}
  igor: {baseUrl: 'http://spin-igor.spinnaker:8088', enabled: true}
  kayenta: {baseUrl: 'http://spin-kayenta.spinnaker:8090', enabled: false}
  orca: {baseUrl: 'http://spin-orca.spinnaker:8083', enabled: true}
  redis: {baseUrl: 'redis://spin-redis.spinnaker:6379', enabled: true}
  rosco: {baseUrl: 'http://spin-rosco.spinnaker:8087', enabled: true}
  monitoringDaemon: {baseUrl: 'http://spin-monitoring-daemon.spinnaker:8008', enabled: false}
`

const oauth = (provider: string, more = '') =>
  inGate(`security:
  oauth2:
    enabled: true
    client: {clientId: id, clientSecret: s3cret, preEstablishedRedirectUri: 'https://gate.example/login'${more}}
    provider: ${provider}
    userInfoRequirements: {}
`)

/** Halyard's output and what operators write beside it, by way of authentication. */
const logins: Record<string, ConfigurationSet> = {
  'halyard, no login': {
    files: {
      'spinnaker.yml': `${halyardServices}global.spinnaker.timezone: America/Los_Angeles\n`,
      'gate.yml': `server: {ssl: {enabled: false}, port: '8084', address: 0.0.0.0}
security: {basicform: {enabled: true}, user: {}}
cors: {allow-mode: regex}
google: {}
spectator: {applicationName: '\${spring.application.name}', webEndpoint: {enabled: false}}
stats: {enabled: true, endpoint: 'https://stats.spinnaker.io', instanceId: 01ABC, connectionTimeoutMillis: 3000}
`,
    },
    names: ['spectator', 'services.clouddriver-caching', 'services.gate', 'stats'],
  },
  'halyard, GitHub': oauth('github', ", scope: 'user:email'"),
  'halyard, Google': oauth('google'),
  'a preset of Gate, Azure': {
    files: {
      'gate.yml':
        'azureTenantId: abc\nsecurity.oauth2: {enabled: true, client: {clientId: id, clientSecret: s3cret}}\n',
    },
    env: { SPRING_PROFILES_ACTIVE: 'azureOAuth,local' },
  },
  'OAuth 2.0 by hand': inGate(`security.oauth2:
  enabled: true
  client:
    clientId: id
    clientSecret: s3cret
    accessTokenUri: https://idp.example/token
    userAuthorizationUri: https://idp.example/authorize
    scope: openid email profile
  resource: {userInfoUri: 'https://idp.example/userinfo'}
  userInfoMapping: {email: email, firstName: given_name, lastName: family_name, username: email, roles: groups}
`),
  'OAuth 2.0 of newer releases': inGate(`spring.security.oauth2.client:
  registration:
    okta: {client-id: id, client-secret: s3cret, scope: 'openid,email,groups'}
    userInfoMapping: {email: email, username: email, roles: groups}
  provider:
    okta: {authorization-uri: 'https://o.example/a', token-uri: 'https://o.example/t', user-info-uri: 'https://o.example/u'}
security.oauth2.enabled: true
`),
  'halyard, LDAP': inGate(`ldap:
  enabled: true
  url: ldaps://ldap.example/dc=example,dc=com
  userDnPattern: uid={0},ou=people
  managerDn: cn=admin,dc=example,dc=com
  managerPassword: s3cret
  userSearchBase: ''
  userSearchFilter: uid={0}
`),
  'SAML that is off': inGate(
    'saml: {enabled: false, issuerId: spinnaker, metadataUrl: /m.xml, keyStorePasswort: x, userAttributeMapping: {roles: memberOf}}\n',
    'saml.keyStorePasswort',
  ),
  'SAML without its file': refused(
    'gate-local.yml',
    'saml: {enabled: true, metadataUrl: /home/spinnaker/metadata.xml}\n',
    /saml\.metadataUrl: .*metadata\.xml/,
  ),
  'client certificates without TLS': refused(
    'gate-local.yml',
    "default.apiPort: 8085\nx509: {enabled: true, subjectPrincipalRegex: 'EMAILADDRESS=(.*?)(?:,|$)'}\n",
    /x509\.enabled: nothing asks for client certificates: .* needs TLS; set server\.ssl\.enabled/,
  ),
  'an address for OAuth 2.0 without a client': {
    files: {
      'gate-local.yml':
        'security.authn.oauth2.client.preEstablishedRedirectUri: https://gate.example/login\n',
    },
    names: ['security.authn.oauth2.client.clientId is missing'],
  },
  'a port for certificates behind a proxy that ends TLS': {
    files: {
      'gate-local.yml':
        'default: {apiPort: 8085, legacyServerPort: 8086}\nserver.tomcat: {protocolHeader: X-Forwarded-Proto, remoteIpHeader: X-Forwarded-For, internalProxies: .*, httpsServerPort: X-Forwarded-Port}\n',
    },
    names: ['default.apiPort is not opened', 'server.tomcat.httpsServerPort'],
  },
  "Google's proxy": inGate(
    'security: {authn: {iap: {enabled: true}}}\ngoogle: {iap: {enabled: true, audience: /projects/1/global/backendServices/2}}\n',
  ),
  'TLS with a key store that is elsewhere': refused(
    'gate-local.yml',
    'server.ssl: {enabled: true, keyAlias: gate, keyStore: /home/spinnaker/gate.jks, keyStoreType: jks, keyStorePassword: x, clientAuth: none}\n',
    /server\.ssl\.key-?store: .*gate\.jks/i,
  ),
  'restrictions of webhooks': own(
    'user-configured-url-restrictions: {rejectLocalhost: false, rejectVerbatimIps: false, allowedHostnamesRegex: ".*[.]example", excludedDomains: [corp.example], rejectedIps: []}\n',
    '',
  ),
  'services that are switched off, with examples in them': own(
    'kayenta: {newrelic: {enabled: false, accounts: [{name: n, apiKey: xxxx, applicationKey: xxxx}]}, prometheus: {enabled: false, accounts: [{name: p}]}}\njenkins: {enabled: false, masters: [{name: j, address: YOUR_JENKINS}]}\n',
    '',
  ),
  'blocks of Orca, Echo and Front50': own(
    'monitor: {activeExecutions: {redis: false}}\npipelineTemplate: {enabled: true, jinja: {enabled: true}}\narmorywebhooks: {enabled: true, forwarding: {baseUrl: "http://spin-dinghy:8081"}}\nvalidation: {applicationNameValidator: {validationRegex: "^.*$"}}\n',
    'armorywebhooks monitor pipelineTemplate validation.',
  ),
  'addresses of Halyard': inGate(
    'security: {apiSecurity: {overrideBaseUrl: "https://g.example", corsAccessPattern: .*, ssl: {enabled: false}}, uiSecurity: {overrideBaseUrl: "https://d.example"}}\n',
    'security.apiSecurity http.publicUrl security.uiSecurity services.deck.baseUrl',
  ),
  'roles of fiat': inGate(
    'auth: {enabled: true, groupMembership: {service: external}, permissions: {provider: {application: aggregate}}}\nfiat: {session-filter: {enabled: false}, restrictApplicationCreation: true, legacyFallback.enabled: false}\n',
    'auth.permissions.provider',
  ),
}

const installers: Record<string, ConfigurationSet> = {
  minnaker: {
    files: {
      'gate-local.yml': `security: {basicform: {enabled: true}}
spring.security.user: {name: admin, password: s3cret}
server: {servlet: {context-path: /api/v1}, tomcat: {protocolHeader: X-Forwarded-Proto, remoteIpHeader: X-Forwarded-For, internalProxies: .*, httpsServerPort: X-Forwarded-Port}}
`,
      'spinnaker-local.yml':
        'services: {deck: {baseUrl: "https://10.0.0.1"}, gate: {baseUrl: "https://10.0.0.1/api/v1"}}\n',
    },
    names: ['services.gate'],
  },
  'the kustomize base': {
    files: {
      'spinnaker.yml':
        'services:\n  orca: {baseUrl: "http://orca:8083"}\n  keel: {enabled: false}\n  fiat: {enabled: false, baseUrl: "http://fiat:7003"}\n',
      'gate.yml':
        'spring: {config: {import: "optional:file:config/redis/"}}\nserver.port: 8084\nredis.connection: ${services.redis.baseUrl}\nspringfox: {documentation: {enabled: false}}\n',
      'redis/gate.yml': 'services.redis.baseUrl: redis://redis:6379\n',
    },
    names: ['springfox'],
  },
  'kleat with empty blocks': starts(
    'gate.yml',
    'security: {}\ncors: {allowedOriginsPattern: "^https?://localhost.*$"}\nspinnaker: {extensibility: {plugins: {}, repositories: {}}}\ngoogle: {}\nserver: {}\nldap: {}\nsaml: {}\nx509: {}\n',
  ),
  'the Helm chart': {
    files: {
      'gate-local.yml':
        'server: {tomcat: {protocolHeader: X-Forwarded-Proto, remoteIpHeader: X-Forwarded-For, internalProxies: .*}}\nlogging: {level: {ROOT: INFO, com.netflix.spinnaker: DEBUG}}\n',
      'spinnaker-local.yml':
        'artifacts: {gcs: {enabled: false}, http: {enabled: true, accounts: []}}\npersistentStorage: {s3: {enabled: true}}\n',
    },
    names: ['persistentStorage', 'artifacts.gcs'],
  },
  'a SpinnakerService of the operator': refused(
    'spinnaker.yml',
    'apiVersion: spinnaker.armory.io/v1alpha2\nkind: SpinnakerService\nmetadata: {name: spinnaker}\nspec:\n  spinnakerConfig:\n    config: {version: 2.28.0, security: {authn: {enabled: false}}}\n    profiles: {gate: {default: {apiPort: 8085}}}\n  expose: {type: service}\n',
    /is a manifest of Kubernetes \(SpinnakerService\).*spec\.spinnakerConfig.*gate-local\.yml/,
  ),
  'the profiles of a SpinnakerService': {
    files: {
      'spinnaker-local.yml':
        'armory.diagnostics: {enabled: true, uuid: x, logging: {enabled: true, endpoint: "https://debug.example/v1/logs"}}\nobservability.config.metrics.prometheus.enabled: true\n',
      'gate-local.yml':
        'spinnaker.extensibility.plugins: {Armory.Observability: {enabled: true, version: 1.2.0}}\nmanagement.endpoints.web: {exposure.include: "health,info,aop-prometheus"}\n',
    },
    names: ['armory', 'observability', 'spinnaker.extensibility.plugins', 'management'],
  },
  'a ConfigMap': refused(
    'gate.yml',
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gate}\ndata: {gate.yml: 'server.port: 8084'}\n",
    /is a manifest of Kubernetes \(ConfigMap\)/,
  ),
  'a Secret beside settings in one file': refused(
    'gate.yml',
    'server.port: 8084\n---\napiVersion: v1\nkind: Secret\nstringData: {a: b}\n',
    /gate\.yml:3: is a manifest of Kubernetes \(Secret\)/,
  ),
  "Halyard's own configuration": refused(
    'spinnaker.yml',
    'currentDeployment: default\ndeploymentConfigurations:\n- {name: default, version: 1.26.6, providers: {kubernetes: {enabled: true}}}\n',
    /is the configuration of Halyard/,
  ),
  'all files of one machine': {
    files: {
      'spinnaker.yml': halyardServices,
      'gate.yml': 'server.port: 8084\n',
      'clouddriver.yml': account(''),
      'echo.yml': 'slack: {enabled: true}\n',
      'orca-local.yml': 'pollers: {}\n',
    },
    names: ['config/clouddriver.yml', 'config/echo.yml', 'config/orca-local.yml'],
  },
}

/** What was read otherwise, or not at all, without a word. */
const unread: Record<string, ConfigurationSet> = {
  'properties of Java': {
    files: {
      'gate.yml': 'server.port: 1\n',
      'gate.properties': 'server.port=8084\nservices.unheard.of=x\n',
    },
    names: ['services.unheard'],
  },
  'options of Java': {
    files: {},
    env: { JAVA_OPTS: '-Xmx2g -Dserver.port=8084 -Djavax.net.ssl.trustStore=/t -Dlog4j2.x=1' },
    names: ['SERVER_PORT for -Dserver.port of JAVA_OPTS', 'NODE_EXTRA_CA_CERTS for'],
  },
  'files of installers and of other profiles': {
    files: {
      'values.yaml': 'halyard: {spinnakerVersion: 1.26.6}\n',
      'SpinnakerService.yml': 'kind: SpinnakerService\n',
      'gate-production.yml': 'server.port: 8084\n',
      'gate-local.json': '{"server": {"port": 8084}}',
      'application.yml': 'server.port: 8084\n',
      'orca.properties': 'server.port=8083\n',
    },
    names: [
      'to other services: config/orca.properties.',
      'under which Gate reads nothing: config/application.yml.',
      'for an installer: config/SpinnakerService.yml, config/values.yaml.',
      'not active: config/gate-production.yml.',
      'nor properties: config/gate-local.json.',
    ],
  },
  'a placeholder without quotes': refused(
    'gate-local.yml',
    'services:\n  orca: {baseUrl: ${ORCA}, okHttpClient: {}, host: ${services.default.host}}\n',
    /:2: is not usable YAML: .*; a value with \$\{…\} or \{\{…\}\} needs quotes/,
  ),
}

/** spinnaker.yml of ten years. */
const sharedFiles: Record<string, ConfigurationSet> = {
  'the first generation': shared(
    `global: {spinnaker: {timezone: America/Los_Angeles}}
services:
  default: {host: localhost, protocol: http, primaryAccountName: my-account, igor_enabled: false}
  bakery: {useDefaultBakeOptions: false, extractBuildDetails: true}
  clouddriver: {host: '\${services.default.host}', port: 7002, aws: {udf: {enabled: true}}}
  cassandra: {host: localhost, port: 9042, embedded: true, cluster: CASS_SPINNAKER}
  docker: {enabled: false, targetRepository: ''}
  echo: {enabled: true, cassandra: {enabled: false}, inMemory: {enabled: true}, cron: {enabled: true}}
  fiat: {enabled: false, host: localhost, port: 7003}
  front50: {host: localhost, port: 8080, storage_bucket: spinnaker, rootFolder: front50, cassandra: {enabled: false}, s3: {enabled: true}}
  igor: {enabled: false, port: 8088}
  jenkins: {defaultMaster: {name: Jenkins, baseUrl: '', username: '', password: ''}}
  kato: {host: localhost}
  orca: {host: localhost, port: 8083}
  rosco: {host: localhost, port: 8087, configDir: /opt/rosco/config/packer}
providers:
  aws: {enabled: false, simpleDBEnabled: false, defaultRegion: us-west-2, primaryCredentials: {name: my-aws}}
  google: {enabled: true, defaultRegion: us-central1, primaryCredentials: {name: my-gcp, project: p, jsonPath: ''}}
`,
    'providers services.front50.s3 services.echo.cassandra services.echo.inMemory services.jenkins',
  ),
  'services with keys of their own': shared(
    'services:\n  front50: {baseUrl: "http://f:8080", s3: {bucket: b}, gcs: {bucket: b}}\n  orca: {baseUrl: "http://o:8083", cassandra: {enabled: false}, executionRepository: {cassandra: {enabled: false}}}\n  clouddriver: {baseUrl: "http://c:7002", address: 0.0.0.0, serviceLimits: {}}\n  igor: {baseUrl: "http://i:8088", travis: {enabled: false}}\n  rosco: {baseUrl: "http://r:8087", aws: {enabled: true}}\n',
    'services.front50.s3 services.orca.cassandra services.clouddriver.address services.igor.travis services.rosco.aws',
  ),
  'builds in the shared file': shared(
    'jenkins: {enabled: true, defaultMaster: {name: ci, baseUrl: "http://j", username: u}}\ntravis: {enabled: true, masters: [{name: t, baseUrl: "https://travis-ci.org", address: "https://api.travis-ci.org", githubToken: x}]}\nwercker: {enabled: false, masters: []}\nconcourse: {enabled: true, masters: [{name: c, url: "https://c", username: u, password: p}]}\n',
    'jenkins.defaultMaster travis wercker concourse',
  ),
  'stores in the shared file': shared(
    'spinnaker: {s3: {enabled: true, bucket: b, rootFolder: front50, versioning: true}, gcs: {enabled: false}, redis: {enabled: false}, cassandra: {enabled: false}, azs: {enabled: false}}\nsql: {enabled: true, connectionPools: {default: {default: true, jdbcUrl: "jdbc:mysql://db/orca"}}, migration: {user: m}}\nexecutionRepository: {redis: {enabled: false}, sql: {enabled: true}}\nkeiko.queue.redis.enabled: false\n',
    'spinnaker.s3 sql executionRepository keiko',
  ),
  'notifications in the shared file': shared(
    'email: {enabled: true}\nslack: {enabled: true, token: xoxb, botName: spinnaker}\ntwilio: {enabled: false, baseUrl: "https://api.twilio.com/"}\nbearychat: {enabled: false}\nrest: {enabled: true, endpoints: [{wrap: true, url: "http://audit", template: "{}"}]}\npubsub: {enabled: true, google: {enabled: true, subscriptions: []}, amazon: {enabled: false}}\n',
    'email twilio bearychat rest pubsub',
  ),
  'libraries in the shared file': shared(
    'hystrix: {command: {default: {execution: {timeout: {enabled: false}}}}}\nresilience4j.circuitbreaker.instances.x.ringBufferSizeInClosedState: 5\nretrofit: {logLevel: BASIC}\nokHttpClient: {connectTimeoutMs: 30000, interceptor: {skipHeaderCheck: true}}\nredis: {connection: "redis://r:6379", configuration: {secure: true}, scheduler: {enabled: true}}\nmanagement.metrics.tags: {a: b}\nspring.jackson.serialization.x: true\nserver.tomcat.accesslog.enabled: true\nlogging.level.com.netflix.spinnaker.kork: WARN\n',
    'hystrix resilience4j retrofit management spring.jackson server.tomcat.accesslog',
  ),
  'managed delivery and other services': shared(
    'managed-delivery: {enabled: true}\nswabbie: {enabled: true}\nmonitored-deploy: {deployment-monitors: [{id: a}]}\ntide: {baseUrl: "http://t"}\npipelineTemplates: {enabled: true}\ntasks: {useWaitForAllNetflixAWSInstancesDownTask: true}\ndefault: {bake: {account: prod}, vpc: {securityGroups: []}, account: {env: prod}}\n',
    'managed-delivery monitored-deploy tasks pipelineTemplates',
  ),
  'expressions in what others read': shared(
    'management.metrics.tags.host: "#{systemEnvironment[\'HOSTNAME\']}"\nsql.connectionPools.default.password: ${SQL_PASSWORD}\n',
    'management sql',
  ),
  'a misspelt list of administrators': refused(
    'spinnaker-local.yml',
    'fiat: {admin: {rolls: [ops]}}\n',
    /fiat\.admin\.rolls: is not a known key; did you mean fiat\.admin\.roles\?/,
  ),
}

/** Accounts of clouddriver, igor, rosco, orca and kayenta in the file of the embedded back ends. */
const accounts: Record<string, ConfigurationSet> = {
  'Halyard, Kubernetes V2': ofCluster(
    'requiredGroupMembership: [], providerVersion: V2, permissions: {}, dockerRegistries: [], configureImagePullSecrets: true, cacheThreads: 1, namespaces: [], omitNamespaces: [], kinds: [], omitKinds: [], customResources: [], cachingPolicies: [], oauthScopes: [], oAuthScopes: [], onlySpinnakerManaged: true, liveManifestCalls: false',
    'oAuthScopes providerVersion configureImagePullSecrets cachingPolicies',
  ),
  'Halyard, Kubernetes V1': ofCluster(
    'providerVersion: V1, dockerRegistries: [{accountName: dockerhub, namespaces: []}], context: c, namespaces: [default], omitNamespaces: []',
    'dockerRegistries',
  ),
  'a workshop on EKS': ofCluster('context: c, cacheThreads: "1", metrics: "true"'),
  'a workshop on GKE': own(
    clusters(
      '{name: gke, serviceAccount: true, namespaces: default, checkPermissionsOnStartup: false}',
    ),
    'checkPermissionsOnStartup',
  ),
  'four authorizations': ofCluster(
    'permissions: {READ: [devs], WRITE: [ops], EXECUTE: [ops], CREATE: [ops]}, requiredGroupMembership: []',
  ),
  'custom resources and raw ones': ofCluster(
    'customResources: [{kubernetesKind: Rollout.argoproj.io, spinnakerKind: serverGroupManagers, versioned: "false", deployPriority: "70"}], rawResourcesEndpointConfig: {omitKindExpressions: ["^APIService.*$"]}, kubectlRequestTimeoutSeconds: 60, cacheAllApplicationRelationships: true',
  ),
  'accounts of newer releases': ofCluster(
    'onlyNamespacedResources: true, namespaceLabelSelector: a=b, userAgent: x',
    'onlyNamespacedResources namespaceLabelSelector userAgent',
  ),
  'kebab and snake case': ofCluster(
    'only-spinnaker-managed: true, omit_namespaces: [kube-system], kubectl_executable: kubectl',
    'kubectlExecutable',
  ),
  'both lists of namespaces': refused(
    'fairlead.yml',
    account('namespaces: [a], omitNamespaces: [b]'),
    /kubernetes\.accounts: the account "prod" has both namespaces and omitNamespaces/,
  ),
  'a misspelt restriction of an account': refused(
    'fairlead.yml',
    account('permision: {READ: [devs]}'),
    /accounts\[0\]\.permision: is not a known key; did you mean kubernetes\.accounts\[0\]\.permissions\?/,
  ),
  'other clouds': own(
    `aws: {enabled: true, accounts: [{name: a, accountId: "1", regions: [{name: us-east-1}], assumeRole: role/spinnakerManaged}], bakeryDefaults: {templateFile: aws-ebs.json}, defaultKeyPairTemplate: "{{name}}-keypair"}
ecs: {enabled: true, accounts: [{name: e, awsAccount: a}]}
google: {enabled: true, accounts: [{name: g, project: p, jsonPath: /k.json}], bakeryDefaults: {zone: us-central1-f}}
azure: {enabled: true, accounts: [{name: z, clientId: i, appKey: k, tenantId: t, subscriptionId: s}]}
cloudfoundry: {enabled: true, accounts: [{name: c, api: api.cf, user: u, password: p}]}
appengine: {enabled: true, accounts: [{name: ae, project: p}]}
cloudrun: {enabled: true, accounts: []}
dcos: {enabled: false}
oracle: {enabled: false}
titus: {enabled: false}
`,
    'aws ecs google.accounts azure cloudfoundry appengine cloudrun dcos oracle titus',
  ),
  'registries of images': own(
    'dockerRegistry: {enabled: true, primaryAccount: hub, accounts: [{name: hub, address: "https://index.docker.io", username: u, password: p, email: e@x, cacheIntervalSeconds: 30, clientTimeoutMillis: 60000, repositories: [library/nginx]}]}\n',
    'dockerRegistry artifacts.oci.accounts',
  ),
  'services and caches of clouddriver': own(
    'credentials: {poller: {enabled: true}, types: {kubernetes: {reloadFrequencyMs: 60000}}, primaryAccountTypes: [prod]}\naccount.storage.enabled: true\ncaching: {writeEnabled: true, redis: {hashingEnabled: false}}\nserviceLimits: {defaults: {rateLimit: 10}}\nudf: {enabled: false}\nkubernetes.verifyAccountHealth: false\n',
    'account caching serviceLimits udf kubernetes.verifyAccountHealth credentials.poller',
  ),
  'Jenkins of Halyard': own(
    'jenkins: {enabled: true, masters: [{name: ci, permissions: {}, address: "https://ci.example", username: u, password: p, csrf: true}, {name: g, address: "https://g.example", jsonPath: /k.json, oauthScopes: [a]}]}\n',
    'jenkins.masters[1].jsonPath jenkins.masters[1].oauthScopes',
  ),
  'GitLab CI and clouds that build': own(
    'gitlab-ci: {enabled: true, masters: [{name: gl, address: "https://gitlab.com", privateToken: t, limitByMembership: true, limitByOwnership: false, defaultHttpPageLength: 100}]}\ncodebuild: {enabled: true, accounts: [{name: a, region: us-east-1}]}\ngcb: {enabled: true, accounts: [{name: g, project: p, subscriptionName: s}]}\n',
    'codebuild gcb',
  ),
  'repositories of packages': own(
    'artifactory: {enabled: true, searches: [{name: a, baseUrl: "https://a", repo: r, repoType: maven}]}\nnexus: {enabled: false, searches: []}\ndocker-registry.enabled: true\nhelm: {enabled: true}\n',
    'artifactory nexus dockerRegistry helm.enabled',
  ),
  'artifact accounts of Halyard': own(
    'artifacts: {bitbucket: {enabled: false, accounts: []}, gcs: {enabled: true, accounts: [{name: g, jsonPath: /k}]}, oracle: {enabled: false}, github: {enabled: true, accounts: [{name: gh, token: t, useContentAPI: true}]}, gitlab: {enabled: true, accounts: [{name: gl, tokenFile: /t}]}, gitrepo: {enabled: true, accounts: []}, http: {enabled: true, accounts: [{name: h, urlRestrictions: {rejectLocalhost: false}}]}, helm: {enabled: true, accounts: [{name: st, repository: "https://charts.example"}]}, s3: {enabled: true, accounts: [{name: s, apiEndpoint: "http://minio:9000", apiRegion: us-east-1, region: us-east-1, awsAccessKeyId: a, awsSecretAccessKey: b}]}, maven: {enabled: false}, templates: []}\n',
    'artifacts.gcs artifacts.oracle artifacts.templates urlRestrictions',
  ),
  'git repositories of newer releases': own(
    'artifacts.git-repo: {enabled: true, clone-retention-minutes: 60, accounts: [{name: g, sshPrivateKeyFilePath: /k, sshPrivateKeyPassphrase: x, sshTrustUnknownHosts: true}]}\n',
    'clone-retention-minutes sshPrivateKeyPassphrase',
  ),
  'bakes of rosco': own(
    'rosco: {configDir: /opt/rosco, polling: {enabled: true}}\ndocker.bakeryDefaults: {targetRepository: r}\nexecutionStatusToBakeStates: {associations: []}\ndefaultCloudProviderType: aws\ndebianRepository: "http://d"\nyumRepository: "http://y"\nhelm: {v3ExecutablePath: /usr/bin/helm3}\nkustomize: {v4ExecutablePath: /usr/bin/kustomize}\n',
    'rosco docker executionStatusToBakeStates defaultCloudProviderType debianRepository yumRepository',
  ),
  'stages of orca': own(
    'webhook: {preconfigured: [{label: Notify, type: notify, enabled: true, description: d, method: POST, url: "https://x.example/${ trigger.id }", customHeaders: {Authorization: [Basic eA==]}, payload: "{\\"a\\":\\"${execution[\'id\']}\\"}", parameters: [{label: A, name: a, description: b, type: string, defaultValue: "1"}], noUserConfigurableFields: true, failFastStatuses: [404]}], validateRedirects: true}\njob: {preconfigured: {kubernetes: [{label: J, type: j, description: d, cloudProvider: kubernetes, credentials: prod, account: prod, waitForCompletion: true, application: shop, manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}}]}}\ntasks.executionWindow.timezone: UTC\nqueue.redis.enabled: true\n',
    'noUserConfigurableFields failFastStatuses webhook.validateRedirects tasks queue',
  ),
  'metrics of kayenta': own(
    'kayenta: {prometheus: {enabled: true, metadataCachingIntervalMS: 60000, accounts: [{name: p, endpoint: {baseUrl: "http://p:9090"}, supportedTypes: [METRICS_STORE], recommendedLocations: [a]}]}, aws: {enabled: true, accounts: [{name: a, bucket: b, supportedTypes: [OBJECT_STORE]}]}, s3: {enabled: true}, google: {enabled: false}, stackdriver: {enabled: false}}\n',
    'kayenta.aws kayenta.s3 kayenta.google recommendedLocations',
  ),
}

/** Keys of plug-ins and of hands. */
const hands: Record<string, ConfigurationSet> = {
  'a plug-in of GitHub': inGate(
    'github: {plugin: {accounts: [{name: a, organization: o}]}}\n',
    'github',
  ),
  'plug-ins of all kinds': inGate(
    'spinnaker: {extensibility: {plugins-root-path: /p, strict-plugin-loading: false, plugins: {A.B: {enabled: true, version: 1, config: {x: y}}}, repositories: {r: {enabled: true, url: "https://p.example/plugins.json"}}, deck-proxy: {enabled: true, plugins: {A.B: {enabled: true, version: 1}}}}}\npolicyEngine: {x: 1}\nkubesvc: {cluster: redis}\ndinghy: {enabled: true}\nterraformer: {a: 1}\nmyPlugin: {url: "http://x"}\n',
    'spinnaker.extensibility.plugins policyEngine kubesvc dinghy terraformer myPlugin',
  ),
  'a variable of the file': inGate(
    'tenant: abc\nservices.deck.baseUrl: https://${tenant}.example\n',
  ),
  'placeholders with defaults': {
    files: {
      'gate.yml':
        'server.port: ${GATE_PORT:8084}\nservices:\n  orca: {baseUrl: "http://${ORCA_HOST:orca}:${ORCA_PORT:8083}"}\nredis.connection: ${REDIS_URL:redis://${REDIS_HOST:redis}:6379}\n',
    },
    env: { ORCA_HOST: 'o' },
  },
  'a placeholder that nothing defines': refused(
    'gate.yml',
    'services.orca.baseUrl: http://${ORCA_HOST}:8083\n',
    /services\.orca\.baseUrl: refers to \$\{ORCA_HOST\}, which nothing defines/,
  ),
  'a default as shells write it': refused(
    'gate.yml',
    'server.port: ${GATE_PORT:-8084}\n',
    /server\.port: must be 0 or more, is -8084; the default of \$\{NAME:default\} follows the colon/,
  ),
  'a template that nothing has rendered': refused(
    'gate.yml',
    'server:\n  port: {{ gate_port }}\n',
    /gate\.yml:2: a key must be .*\{\{…\}\} needs quotes$/,
  ),
  'a password that nothing defines': refused(
    'gate-local.yml',
    'ldap: {enabled: true, url: "ldaps://l", userDnPattern: "uid={0}", managerDn: cn=m, managerPassword: "${LDAP_PASSWORD}"}\n',
    /ldap\.managerPassword: refers to \$\{LDAP_PASSWORD\}, which nothing defines/,
  ),
  'a secret of a cluster that is elsewhere': refused(
    'gate-local.yml',
    'ldap: {enabled: true, url: "ldaps://l", userDnPattern: "uid={0}", managerDn: cn=m, managerPassword: "encrypted:k8s!n:ldap!k:password"}\n',
    /ldap\.managerPassword: the secret engine "k8s" has no value/,
  ),
  'an expression of Spring': refused(
    'gate.yml',
    'services.orca.baseUrl: "#{systemProperties[\'orca\']}"\n',
    /services\.orca\.baseUrl: must be an absolute address/,
  ),
  'documents for profiles': starts(
    'gate.yml',
    'server.port: 8084\n---\nspring.config.activate.on-profile: prod\nserver.prot: 9\n---\nspring: {profiles: local}\nmine: 1\n---\nspring: {profiles: "!local"}\nserver: {adress: x}\n',
    'mine',
  ),
  'a profile of its own': {
    files: {
      'gate.yml': 'server.port: 8084\n',
      'gate-prod.yml': 'server.prot: 8085\n',
      'spinnaker-prod.yml': 'services.orca.baseUrl: http://o:8083\n',
    },
    env: { SPRING_PROFILES_ACTIVE: 'prod,local' },
    names: ['config/gate-prod.yml:1: server.prot: is not a known key; did you mean server.port?'],
  },
  'JSON in a variable': {
    files: {},
    env: {
      SPRING_APPLICATION_JSON:
        '{"server":{"port":8085},"services.orca.baseUrl":"http://o:8083","eureka":{"client":{"a":1}}}',
    },
    names: ['eureka'],
  },
  'variables of a container': {
    files: {},
    env: {
      SERVICES_ORCA_BASEURL: 'http://o:8083',
      SERVER_PORT: '8085',
      JAVA_OPTS: '-Xmx1g',
      SERVICES_OCRA_ENABLED: 'true',
    },
    names: ['SERVICES_OCRA_ENABLED (did you mean SERVICES_ORCA_ENABLED?)'],
  },
  'anchors and merges': inGate(
    'x-t: &t {connectTimeoutMs: 1000, readTimeoutMs: 2000}\nservices:\n  orca: {<<: *t, baseUrl: "http://o:8083"}\n  echo: {<<: *t, baseUrl: "http://e:8089"}\n',
  ),
  'one key in two spellings': inGate(
    'server: {max-http-header-size: 9000, maxHttpHeaderSize: 9000}\nsecurity.headers: {a: 1}\nsecurity: {headers: {a: 1}}\n',
    'security.headers',
  ),
  'two values of one key': refused(
    'gate.yml',
    'server: {context-path: /a, contextPath: /b}\n',
    /server\.context-path: is written twice, first in line 1; keep one/,
  ),
  'typing errors': {
    files: { 'gate-local.yml': 'server.prot: 8085\nserivces: {orca: {}}\n' },
    names: ['did you mean server.port?', 'did you mean services?'],
  },
  'a misspelt address to listen on': refused(
    'gate-local.yml',
    'server: {adress: 127.0.0.1}\n',
    /server\.adress: is not a known key; did you mean server\.address\?/,
  ),
  'a word for a number': refused(
    'gate.yml',
    'server.port: many\n',
    /server\.port: must be a number, is "many"/,
  ),
  'a tab': refused('gate.yml', 'server:\n\tport: 1\n', /a tab in the indentation; use blanks/),
  'limits and cross-origin rules': inGate(
    'rate-limit: {enabled: true, learning: false, capacity: 300, rateSeconds: 10, capacityByPrincipal: [{principal: ci, override: 500}], redis: {enabled: true}}\ncors: {allow-mode: list, allowedOrigins: "https://a.example,https://b.example"}\nredis.connection: redis://r:6379\n',
  ),
  'keys of nothing': inGate(
    'audit: {enabled: true, sink: stdout, destination: kafka}\nhttp.proxy: x\n',
    'audit.destination http.proxy',
  ),
}

export const configurationSets: Readonly<Record<string, ConfigurationSet>> = {
  ...logins,
  ...installers,
  ...sharedFiles,
  ...accounts,
  ...hands,
  ...unread,
}
