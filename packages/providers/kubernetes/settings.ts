/** Settings of the provider `kubernetes`, with the keys of clouddriver. */

import {
  inSeconds,
  off,
  on,
  optionalText,
  optionalTexts,
  type SettingsReport,
  setting,
  settings,
  texts,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import { IgnoreRule } from './drift/ignore.ts'
import { OwnRule } from './health/own-rules.ts'
import { type Kind, priorities, spinnakerKinds } from './kinds.ts'
import { toReferenceRule } from './manifests/references.ts'
import { PrometheusSettings } from './reads/metric-queries.ts'

const CustomResource = z
  .strictObject({
    kubernetesKind: z.string().min(1).describe('Kind and group, such as `Widget.example.com`.'),
    spinnakerKind: z.enum(spinnakerKinds).default('unclassified').describe('What it is shown as.'),
    deployPriority: z
      .union([z.string(), z.int()])
      .default('100')
      .transform(toPriority)
      .describe(
        'Order of deployments, a number or a name such as `workload_priority`; smaller ones come first.',
      ),
    versioned: off.describe('Whether each change is deployed under a new name.'),
    namespaced: on.describe('False for a cluster-wide kind.'),
  })
  .transform(
    ({ kubernetesKind, spinnakerKind, deployPriority, versioned, namespaced }): Kind => ({
      name: kubernetesKind,
      spinnakerKind,
      isNamespaced: namespaced,
      isVersioned: versioned,
      priority: deployPriority,
    }),
  )

function toPriority(
  written: string | number,
  context: z.core.$RefinementCtx<string | number>,
): number {
  const text = String(written).trim().toLowerCase()
  const priority = Object.hasOwn(priorities, text) ? priorities[text] : Number(text)
  if (priority !== undefined && text !== '' && Number.isSafeInteger(priority)) return priority
  context.addIssue(`must be a number or one of ${Object.keys(priorities).join(', ')}`)
  return z.NEVER
}

const CustomReference = z
  .strictObject({
    group: z.string().min(1).describe('Group of the custom resource.'),
    kind: z.string().min(1).describe('Its kind.'),
    path: z
      .string()
      .min(1)
      .describe(
        'Where the name stands, such as `spec.sources[].name`; a key with dots stands in braces.',
      ),
    to: z.string().min(1).describe('Kind of the named object, such as `ConfigMap`.'),
    namespacePath: z
      .string()
      .optional()
      .describe('Key beside the name that has its namespace. Default: `namespace`.'),
    bind: on.describe('Whether the name follows the version of the object.'),
  })
  .transform(({ group, kind, path, to, namespacePath, bind }) =>
    toReferenceRule({
      from: `${kind}.${group}`,
      path,
      to,
      use: bind ? 'bound' : 'named',
      namespaceKey: namespacePath,
    }),
  )

const Pattern = z.string().refine(isPattern, 'must be a regular expression')

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) !== undefined
  } catch {
    return false
  }
}

const roles = texts.transform(toRoles)

function toRoles(listed: readonly string[]): string[] {
  return listed.map((role) => role.trim().toLowerCase()).filter((role) => role !== '')
}

const ignored = (description: string) =>
  z.unknown().optional().meta({ description, effect: 'none' })
const older = 'Key of older releases.'

/** How apps of `.fairlead/app.yml` are deployed there; its cluster decides what they cannot. */
const AppPlaces = z.strictObject({
  namespace: optionalText.describe(
    'Their namespace, which has to exist. Default: the first of `namespaces`, else `default`.',
  ),
  gateway: optionalText.describe(
    'Gateway for their hosts, as `name` or `namespace/name`; hosts become an HTTPRoute. Default: an Ingress.',
  ),
  ingressClass: optionalText.describe('Class of an Ingress. Default: that of the cluster.'),
  tlsSecret: optionalText.describe(
    'Secret of the namespace with a certificate for the hosts of an Ingress.',
  ),
  issuer: optionalText.describe(
    'Cluster issuer of cert-manager that orders certificates for the hosts of an Ingress.',
  ),
  pullSecret: optionalText.describe(
    'Secret of the namespace with the login of the registry, for pulls.',
  ),
  storageClass: optionalText.describe('Class of their volumes. Default: that of the cluster.'),
  volumeSize: z.string().min(1).default('10Gi').describe('Size of each of their volumes.'),
})

const AccountKeys = z.strictObject({
  name: z.string().min(1).describe('Name of the account; users choose it by that name.'),
  environment: optionalText.describe('Such as `test` or `prod`. Default: the name of the account.'),
  accountType: optionalText.describe(
    'A name that related accounts share. Default: the name of the account.',
  ),
  kubeconfigFile: optionalText.describe(
    'Path of a kubeconfig. Default: `$KUBECONFIG`, else `~/.kube/config`.',
  ),
  kubeconfigContents: optionalText.describe('Text of a kubeconfig, where no file is named.'),
  context: optionalText.describe('Context of the kubeconfig. Default: its current one.'),
  serviceAccount: off.describe(
    'Uses the service account of the pod that Fairlead runs in, and no kubeconfig.',
  ),
  namespaces: texts.describe('Only these namespaces. Default: all.'),
  omitNamespaces: texts.describe('All namespaces but these.'),
  kinds: texts.describe('Lists show only these kinds. Default: all.'),
  omitKinds: texts.describe('Lists show all kinds but these.'),
  customResources: z
    .array(CustomResource)
    .default([])
    .describe('Kinds of custom resources that Fairlead treats in a certain way.'),
  health: z
    .array(OwnRule)
    .default([])
    .describe('Rules for the states of kinds, in CEL; they come before those that Fairlead has.'),
  ignoreDifferences: z
    .array(IgnoreRule)
    .default([])
    .describe('Differences that are no drift, in the form that Argo CD has.'),
  onlySpinnakerManaged: off.describe('Lists show only what was deployed by Fairlead or Spinnaker.'),
  cacheAllApplicationRelationships: off.describe(
    'Raw resources include kinds that no other list has.',
  ),
  apply: z
    .enum(['server', 'client'])
    .default('server')
    .describe(
      'Which side merges a manifest with a live object: the API server, which knows the owners of fields, or Fairlead, as `kubectl apply` ' +
        'without `--server-side`. Manifests choose by `strategy.spinnaker.io/client-side-apply`.',
    ),
  versioning: z
    .enum(['bound', 'clouddriver'])
    .default('bound')
    .describe(
      '`bound`: a config map or secret gets a new name with each change if objects of the same request refer to it, and nothing else names it. ' +
        '`clouddriver`: every one does.',
    ),
  references: z
    .array(CustomReference)
    .default([])
    .describe('Places of custom resources that name config maps, secrets or other objects.'),
  watch: z
    .enum(['on-demand', 'always'])
    .default('on-demand')
    .describe(
      '`on-demand`: what no client has asked for within an hour is not watched. `always`: watched from the start on.',
    ),
  permissions: z
    .strictObject({
      READ: roles.describe('Roles that may see what runs there.'),
      WRITE: roles.describe('Roles that may change it.'),
      EXECUTE: roles.describe('Restricts the account; use needs READ or WRITE.'),
      CREATE: roles.describe('As `EXECUTE`.'),
    })
    .prefault({})
    .describe('Roles by authorization; without any, the account is open to all users.'),
  requiredGroupMembership: roles.describe(
    'Older form of `permissions`: roles that may see and change the account.',
  ),
  clusterScoped: optionalTexts
    .transform((listed) => listed && toRoles(listed))
    .describe(
      'Roles that may change cluster-wide objects, such as namespaces and cluster roles, besides WRITE on the account. ' +
        'Default: all users where the account is open, else none.',
    ),
  kubectlRequestTimeoutSeconds: inSeconds(z.number().min(1).max(3600).default(30)).describe(
    'Longest time of a request.',
  ),
  rawResourcesEndpointConfig: z
    .strictObject({
      kindExpressions: z
        .array(Pattern)
        .default([])
        .describe('Regular expressions of kinds that raw resources include.'),
      omitKindExpressions: z
        .array(Pattern)
        .default([])
        .describe('Regular expressions of kinds that raw resources omit.'),
    })
    .prefault({})
    .describe('Which kinds are listed as raw resources.'),
  apps: AppPlaces.prefault({}).describe('Where and how apps of an app file are deployed.'),
  metrics: on.describe('Reads the processor time and memory of pods.'),
  prometheus: PrometheusSettings.optional().describe(
    'A Prometheus that has metrics of its server groups.',
  ),
  namingStrategy: z.literal('kubernetesAnnotations').optional().describe('The only strategy.'),
  cacheIntervalSeconds: z
    .int()
    .min(1)
    .optional()
    .describe('Shown in the account; lists are watched and need no interval.'),
  cacheThreads: z.int().min(1).default(1).meta({ description: 'Shown in the account.' }),
  checkPermissionsOnStartup: ignored('A kind counts as readable until the API server refuses it.'),
  cachingPolicies: ignored('Lists are watched.'),
  oAuthServiceAccount: ignored('Use an exec credential of the kubeconfig.'),
  oAuthScopes: ignored('Use an exec credential of the kubeconfig.'),
  kubectlExecutable: ignored('Fairlead calls the API server itself.'),
  debug: ignored('See `logging.level`.'),
  onlyNamespacedResources: ignored('`kinds` and `omitKinds` choose.'),
  providerVersion: ignored(older),
  version: ignored(older),
  provider: ignored(older),
  dockerRegistries: ignored(older),
  liveManifestCalls: ignored(older),
  configureImagePullSecrets: ignored(older),
  skin: ignored(older),
  cluster: ignored(older),
  user: ignored(older),
  caCert: ignored(older),
  kubectlPath: ignored(older),
})

const Account = AccountKeys.transform(
  ({ kubectlRequestTimeoutSeconds, rawResourcesEndpointConfig, ...account }) => ({
    ...account,
    environment: account.environment ?? account.name,
    accountType: account.accountType ?? account.name,
    requestTimeoutMs: kubectlRequestTimeoutSeconds,
    rawKinds: rawResourcesEndpointConfig,
  }),
)

export const kubernetesKeys = settings(
  {
    enabled: setting('kubernetes.enabled', off).describe(
      'Whether the embedded infrastructure deploys to Kubernetes clusters.',
    ),
    accounts: setting('kubernetes.accounts', z.array(Account).default([])).describe(
      'Accounts of the provider `kubernetes`.',
    ),
    execCommands: setting(
      'kubernetes.exec-commands',
      z.array(z.string().min(1)).default([...usualExecCommands()]),
    ).describe('Commands that kubeconfigs may run for credentials, by name or absolute path.'),
    checksOwners: setting('kubernetes.check-owners', on).describe(
      'Whether a change of an object also needs WRITE on the application that owns it.',
    ),
    loadNamespaces: setting('kubernetes.loadNamespacesInAccount', on).describe(
      'Whether the namespaces of each account are read once at the start.',
    ),
    appliesAppLabels: setting('kubernetes.v2.apply-app-labels', on).describe(
      'Whether deployed objects get the labels `app.kubernetes.io/name` and `app.kubernetes.io/managed-by`.',
    ),
    managedBySuffix: setting('kubernetes.v2.managed-by-suffix', z.string().default('')).describe(
      'Not empty: the label `app.kubernetes.io/managed-by` is `spinnaker-<suffix>`.',
    ),
    imageBinding: setting(
      'kubernetes.artifact-binding.docker-image',
      z.enum(['match-name-and-tag', 'match-name-only']).default('match-name-and-tag'),
    ).describe('`match-name-only`: artifacts replace only images without tag and digest.'),
    detailsPodsOfJobs: setting('kubernetes.jobs.detailed-pod-status', on).describe(
      'Whether the state of a job lists its pods.',
    ),
    isSearched: setting('kubernetes.search.enabled', on).describe(
      'Whether searches find Kubernetes objects.',
    ),
    lists: {
      allKinds: setting('kubernetes.cache.cacheAll', off).describe(
        'Whether lists and searches have objects of every kind.',
      ),
      kinds: setting('kubernetes.cache.cacheKinds', texts).describe(
        'Further kinds that lists and searches have.',
      ),
      omitKinds: setting('kubernetes.cache.cacheOmitKinds', texts).describe(
        'Kinds that lists and searches omit.',
      ),
      onlyKnownApplications: setting('kubernetes.cache.checkApplicationInFront50', off).describe(
        'Whether lists omit objects of applications that are not stored.',
      ),
    },
    retries: {
      maxAttempts: setting(
        'kubernetes.jobExecutor.retries.maxAttempts',
        z.int().min(1).max(20).default(3),
      ).describe(
        'Attempts of a request that the API server rejects as too many, or that reads and gets no response.',
      ),
      pauseMs: setting(
        'kubernetes.jobExecutor.retries.backOffInMs',
        z.int().min(0).default(500),
      ).describe('Pause before the second attempt; it doubles.'),
    },
    outageMs: setting(
      'kubernetes.outage-seconds',
      inSeconds(z.number().min(0).max(3600).default(30)),
    ).describe(
      'Seconds that an operation waits for an API server that does not answer, such as one that restarts, before it fails.',
    ),
    silenceMs: setting(
      'kubernetes.silence-seconds',
      inSeconds(z.number().min(0.1).max(60).default(0.8)),
    ).describe(
      'Seconds without a sign of life after which reads show the last state of an API server, or say that it is away.',
    ),
    health: {
      graceMs: setting(
        'kubernetes.health.grace-seconds',
        inSeconds(z.number().min(0).max(86_400).default(300)),
      ).describe('How long an object may report trouble before it counts as failed.'),
      firstStatusMs: setting(
        'kubernetes.health.first-status-seconds',
        inSeconds(z.number().min(0).max(3600).default(10)),
      ).describe('How long the first status of a custom resource is waited for.'),
      unattendedMs: setting(
        'kubernetes.health.unattended-seconds',
        inSeconds(z.number().min(0).max(3600).default(30)),
      ).describe(
        'After what time an object without a status counts as one that no controller acts on.',
      ),
    },
    log: {
      lines: setting('kubernetes.logs.max-lines', z.int().min(1).default(10_000)).describe(
        'Newest lines of a log that are shown.',
      ),
      bytes: setting(
        'kubernetes.logs.max-bytes',
        z
          .int()
          .min(1)
          .default(4 * 1024 ** 2),
      ).describe('The same in bytes.'),
    },
  },
  {
    'kubernetes.verifyAccountHealth': '`fairlead doctor` examines accounts.',
    'kubernetes.cache.enabled': 'Lists are watched on demand.',
    'kubernetes.kubectl.executable': 'Fairlead calls the API server itself.',
    'kubernetes.oAuth.executable': 'Use an exec credential of the kubeconfig.',
    'kubernetes.jobExecutor.retries.enabled': 'Requests are retried where that is safe.',
    'kubernetes.jobExecutor.retries.exponentialBackoffEnabled': 'The pause doubles.',
    'kubernetes.jobExecutor.retries.exponentialBackoffMultiplier': 'The pause doubles.',
    'kubernetes.jobExecutor.retries.exponentialBackOffIntervalMs': 'The pause is bounded.',
    'kubernetes.jobExecutor.retries.retryableErrorMessages':
      'Errors are told apart by their status.',
    'kubernetes.jobExecutor.persistTaskOutput': 'Tasks have no output of a program.',
    'kubernetes.jobExecutor.enableTaskOutputForAllAccounts': 'Tasks have no output of a program.',
  },
)

function usualExecCommands(): readonly string[] {
  return [
    'aws',
    'aws-iam-authenticator',
    'gke-gcloud-auth-plugin',
    'kubelogin',
    'doctl',
    'oci',
    'ibmcloud',
    'tsh',
  ]
}

export type KubernetesSettings = NonNullable<ReturnType<typeof toKubernetesSettings>>
export type KubernetesAccountSettings = KubernetesSettings['accounts'][number]

/** Undefined where it is switched off; what is wrong is reported nevertheless. */
export function toKubernetesSettings(keys: object, report: SettingsReport) {
  const { enabled, ...values } = kubernetesKeys.read(keys)
  const key = 'kubernetes.accounts'
  const names = values.accounts.map(({ name }) => name.toLowerCase())
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index))) {
    report.problem(key, `the account "${name}" is listed twice`)
  }
  for (const { name, rawKinds, ...account } of values.accounts) {
    const pairs = [
      ['namespaces', account.namespaces, 'omitNamespaces', account.omitNamespaces],
      ['kinds', account.kinds, 'omitKinds', account.omitKinds],
      [
        'kindExpressions',
        rawKinds.kindExpressions,
        'omitKindExpressions',
        rawKinds.omitKindExpressions,
      ],
    ] as const
    for (const [one, ones, other, others] of pairs) {
      if (ones.length > 0 && others.length > 0) {
        report.problem(key, `the account "${name}" has both ${one} and ${other}; keep one of them`)
      }
    }
  }
  if (values.accounts.length > 0 && !report.isSet('kubernetes.enabled'))
    report.notice(`${key} has no effect: write kubernetes.enabled: true to deploy to its clusters.`)
  return enabled ? values : undefined
}

/** Whether its permissions name any role. */
export function isRestricted(permissions: KubernetesAccountSettings['permissions']): boolean {
  return Object.values(permissions).some((roles) => roles.length > 0)
}
