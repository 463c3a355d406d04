/** Descriptions of the stage types that work on manifests: objects of Kubernetes clusters. */
import { manifestProvider } from '@fairlead/base/settings/standalone.ts'
import { applicationField, optional, waitsForCompletion } from './common.ts'
import {
  choice,
  flag,
  json,
  map,
  number,
  object,
  objects,
  type StageDescription,
  stagesOf,
  text,
  textListField,
} from './description.ts'
import { canarySteps } from './infrastructure.ts'

const provider = text('cloudProvider', 'The provider.', {
  default: manifestProvider,
  choicesFrom: 'providers',
  otherNames: ['cloudProviderType', 'providerType', 'provider'],
})

const account = text('account', 'The account.', {
  required: true,
  choicesFrom: 'accounts',
  otherNames: ['credentials', 'account.name', 'accountName'],
})

const location = text('location', 'The namespace; none for what has no namespace.', {
  choicesFrom: 'regions',
  otherNames: ['namespace'],
})

const place = [provider, account, location]

const moniker = object('moniker', 'Whose the objects are.', [
  text('app', 'The application; unless given, that of the execution.', {
    choicesFrom: 'applications',
  }),
  text('cluster', 'The cluster; unless given, kind and name of each object.'),
  text('stack', 'The stack, for traffic guards.'),
  text('detail', 'The detail, for traffic guards.'),
])

/** One object by name, or one of a cluster. */
const target = [
  ...place,
  text('manifestName', 'Kind and name of the object, such as `deployment web`.'),
  choice('mode', 'How the object is found: by its name, or as one of a cluster.', {
    choices: ['static', 'dynamic'],
  }),
  choice('criteria', 'dynamic: which object of the cluster.', {
    choices: ['newest', 'second_newest', 'oldest', 'largest', 'smallest'],
  }),
  text('kind', 'dynamic: kind of the object, such as replicaSet.'),
  text('cluster', 'dynamic: the cluster, such as `replicaSet web`.', { choicesFrom: 'clusters' }),
  text('app', 'dynamic: application of the cluster; unless given, that of the execution.', {
    choicesFrom: 'applications',
  }),
]

const selectors = object('labelSelectors', 'Labels that objects must have.', [
  objects('selectors', 'All of them must hold.', [
    choice('kind', 'How the label compares.', {
      choices: ['ANY', 'EQUALS', 'NOT_EQUALS', 'CONTAINS', 'NOT_CONTAINS', 'EXISTS', 'NOT_EXISTS'],
    }),
    text('key', 'Name of the label.'),
    textListField('values', 'Values to compare with.'),
  ]),
])

const source = choice(
  'source',
  'Where the manifests come from: the stage itself, or an artifact.',
  {
    choices: ['text', 'artifact'],
    default: 'text',
  },
)

export const sourced = [
  text('manifestArtifactId', 'artifact: the expected artifact that holds the YAML.', {
    choicesFrom: 'artifacts',
  }),
  json(
    'manifestArtifact',
    'artifact: an artifact that holds the YAML, in place of an expected one.',
  ),
  text(
    'manifestArtifactAccount',
    'artifact: the account from which it is fetched. Embedded artifacts need none.',
  ),
  flag('skipExpressionEvaluation', 'Leaves `${}` in manifests as it is.'),
  textListField(
    'requiredArtifactIds',
    'Expected artifacts that the manifests must use; they are bound first.',
    {
      choicesFrom: 'artifacts',
    },
  ),
  json('requiredArtifacts', 'The same, each as an object with `expectedArtifactId` or `artifact`.'),
  flag(
    'enableArtifactBinding',
    'Replaces images, config maps and secrets by the artifacts of the execution.',
    {
      default: true,
    },
  ),
]

export const stability = [
  number('stableManifestTimeoutMinutes', 'Minutes within which the objects must be stable.', {
    default: 30,
  }),
  flag(
    'failFast',
    'Fails as soon as waiting is pointless, such as for an image that does not exist.',
    { default: true },
  ),
  flag('includeEvents', 'Keeps the events of the objects in the stage.'),
  flag('awaitSuspended', 'Waits for objects that a person or their specification has stopped.'),
  flag('strictHealth', 'Waits for objects on which no controller acts.'),
  flag('failOnLastRun', 'Fails for cron jobs whose last run failed.'),
]

const plannedFields = [
  provider,
  account,
  moniker,
  source,
  json('manifests', 'The manifests, as a list of objects.'),
  ...sourced,
  text('namespaceOverride', 'Namespace of all manifests, in place of their own.', {
    choicesFrom: 'regions',
  }),
  object('trafficManagement', 'Which services send traffic to deployed replica sets.', [
    flag('enabled', 'Whether Fairlead manages the traffic.'),
    object('options', 'How.', [
      textListField('services', 'Services, such as `service web`.', {
        choicesFrom: 'load-balancers',
      }),
      flag('enableTraffic', 'Sends traffic to the new version. With a strategy it is the default.'),
      choice(
        'strategy',
        'What happens to older versions: bluegreen disables them, highlander deletes them. canary sends the new one more of the traffic step by step, and none once a step fails.',
        { choices: ['none', 'bluegreen', 'redblack', 'highlander', 'canary'], default: 'none' },
      ),
      number(
        'maxRemainingAsgs',
        'bluegreen, redblack, canary: versions that stay, 2 unless given, of which disabled ones are deleted; 0 keeps all, as does a manifest with a limit of its history.',
      ),
      flag(
        'scaleDown',
        'bluegreen, redblack, canary: takes the pods of the former version away; a rollback scales it up first.',
      ),
      canarySteps,
    ]),
  ]),
  flag('versioned', 'Whether names get a version; unless given, the kind decides.'),
  selectors,
  flag('allowNothingSelected', 'Labels that select no manifest are no error.'),
  flag('skipSpecTemplateLabels', 'Leaves the labels of pod templates as they are.'),
]

const manifests = stagesOf('Manifests')
const jobs = stagesOf('Jobs')

const app = text('app', 'The application; unless given, that of the execution.', {
  choicesFrom: 'applications',
})

export const checkManifestDrift = manifests.both(
  'checkManifestDrift',
  'Require no drift',
  'Fails when something else has changed deployed objects.',
  [
    provider,
    optional(account),
    location,
    app,
    flag('failOnDrift', 'Fails on drift; otherwise the stage reports it as the output `drift`.', {
      default: true,
    }),
  ],
)

export const deploying = [
  flag('plan', 'Keeps what the deployment will change as the output `plan`.'),
  object('rollback', 'After a deployment that does not become stable.', [
    flag(
      'onFailure',
      'Brings the former revision back. Of replica sets with a strategy, the new one is disabled in any case.',
      {
        default: true,
      },
    ),
    flag('destroyLatest', 'canary: also deletes the new version where a step stops it.'),
  ]),
  flag('noOutput', 'Hands no outputs to later stages.'),
]

export const failOnError = flag('failOnError', 'Fails when the API server refuses an object.', {
  default: true,
})
export const waitUntilStable = flag('waitUntilStable', 'Waits until the workload is stable.', {
  default: true,
})
export const replicas = number('replicas', 'Number of replicas.', { required: true })
export const onlyWithEarlierRevision = flag(
  'onlyWithEarlierRevision',
  'Does nothing for a workload that has only one revision.',
)
export const patchOptions = object('options', 'How.', [
  choice('mergeStrategy', 'How the patch is merged.', {
    choices: ['strategic', 'json', 'merge'],
    default: 'strategic',
  }),
  flag('record', 'Notes the change in an annotation.', { default: true }),
])

export const jobFields = [
  provider,
  account,
  applicationField,
  source,
  json('manifest', 'The Job.'),
  ...sourced,
  waitsForCompletion,
  text(
    'propertyFile',
    'Container whose output has properties, such as SPINNAKER_PROPERTY_NAME=value; they become outputs.',
  ),
  choice(
    'consumeArtifactSource',
    'artifact: reads a JSON object at the end; its fields become outputs.',
    {
      choices: ['', 'artifact', 'propertyFile'],
    },
  ),
  text('consumeArtifactId', 'The expected artifact to read.', { choicesFrom: 'artifacts' }),
  json('consumeArtifact', 'The artifact to read, in place of an expected one.'),
  text('consumeArtifactAccount', 'The account from which it is fetched.'),
]

export const bakeManifest = manifests.pipeline(
  'bakeManifest',
  'Bake (Manifest)',
  'Renders manifests with Helm or Kustomize, as an artifact for later stages.',
  [
    choice('templateRenderer', 'The renderer.', {
      required: true,
      choices: ['HELM3', 'HELM2', 'HELMFILE', 'KUSTOMIZE', 'KUSTOMIZE4', 'KUSTOMIZE5'],
    }),
    text('outputName', 'Helm: name of the release.'),
    objects('inputArtifacts', 'The chart or overlay, then files with values in order.', [
      text('id', 'The expected artifact.', { choicesFrom: 'artifacts' }),
      json('artifact', 'An artifact in place of an expected one.'),
      text('account', 'The account from which it is fetched.'),
    ]),
    json('inputArtifact', 'Kustomize: the overlay, as an entry of `inputArtifacts`.'),
    text('namespace', 'Namespace of the objects.'),
    map('overrides', 'Values that win over all files.'),
    flag('rawOverrides', 'Helm: keeps the types of values; otherwise they are texts.'),
    flag('includeCRDs', 'Helm 3: also renders custom resource definitions.'),
    text('apiVersions', 'Helm: API versions that the chart may use.'),
    text('kubeVersion', 'Helm: the version of Kubernetes.'),
    text('environment', 'Helmfile: the environment.'),
    text('helmChartFilePath', 'Path of the chart in a repository.'),
    text('helmfileFilePath', 'Path of the helmfile in a repository.'),
    text('kustomizeFilePath', 'Path of the kustomization file in a repository.'),
  ],
)

export const manifestStages: readonly StageDescription[] = [
  manifests.both(
    'deployManifest',
    'Deploy (Manifest)',
    'Deploys manifests, and waits until their objects are stable.',
    [...plannedFields, ...stability, ...deploying],
  ),
  manifests.both(
    'planManifest',
    'Plan (Manifest)',
    'Finds what a deployment of manifests would change, field by field, without changing it.',
    [...plannedFields, failOnError],
  ),
  checkManifestDrift,
  manifests.both(
    'deleteManifest',
    'Delete (Manifest)',
    'Deletes an object, or all objects that labels select.',
    [
      ...target.map((field) =>
        field.name === 'mode' ? { ...field, choices: ['static', 'dynamic', 'label'] } : field,
      ),
      textListField('kinds', 'label: kinds of the objects, such as configMap.'),
      selectors,
      object('options', 'How.', [
        json('cascading', 'Also what they own: true, false, background, foreground or orphan.', {
          default: true,
        }),
        flag('orphanDependents', 'Leaves what they own.', { otherNames: ['orphanDependants'] }),
        number('gracePeriodSeconds', 'Seconds that pods have to end.'),
      ]),
    ],
  ),
  manifests.both(
    'patchManifest',
    'Patch (Manifest)',
    'Patches an object, and waits until it is stable.',
    [
      ...target,
      source,
      json('patchBody', 'The patch: an object, or a list of operations for the strategy json.'),
      ...sourced,
      patchOptions,
      ...stability,
    ],
  ),
  manifests.both(
    'scaleManifest',
    'Scale (Manifest)',
    'Changes the number of replicas, and waits until it is reached.',
    [...target, replicas, ...stability],
  ),
  manifests.both(
    'undoRolloutManifest',
    'Undo Rollout (Manifest)',
    'Brings an earlier revision of a workload back.',
    [
      ...target,
      number('revision', 'The revision to bring back.'),
      number('numRevisionsBack', 'How many revisions to go back, unless `revision` is set.'),
      onlyWithEarlierRevision,
      ...stability,
    ],
  ),
  manifests.both(
    'pauseRolloutManifest',
    'Pause Rollout (Manifest)',
    'Pauses the rollout of a deployment.',
    target,
  ),
  manifests.both(
    'resumeRolloutManifest',
    'Resume Rollout (Manifest)',
    'Resumes the rollout of a deployment.',
    [...target, ...stability],
  ),
  manifests.both(
    'rollingRestartManifest',
    'Rolling Restart (Manifest)',
    'Replaces the pods of a workload one after another.',
    target,
  ),
  ...[
    ['enableManifest', 'Enable (Manifest)', 'Lets services send traffic to a workload.'],
    [
      'disableManifest',
      'Disable (Manifest)',
      'Takes a workload out of the traffic of services; its pods keep running.',
    ],
  ].map(([type = '', label = '', description = '']) =>
    manifests.both(type, label, description, [
      ...target,
      textListField('loadBalancers', 'The services; unless given, those of its annotation.', {
        choicesFrom: 'load-balancers',
      }),
      waitUntilStable,
      ...stability,
    ]),
  ),
  manifests.both(
    'findArtifactsFromResource',
    'Find Artifacts From Resource (Manifest)',
    'Reads an object, and hands the artifacts that it uses to later stages.',
    target,
  ),
  manifests.task(
    'cleanupArtifacts',
    'Clean up versions',
    'Deletes versions of objects beyond the number that their annotation allows.',
    [provider, account, json('manifests', 'The objects.')],
  ),
  bakeManifest,
  jobs.both('runJob_kubernetes', 'Run a job on Kubernetes', 'Runs a Job to its end.', jobFields),
  jobs.both('runJobManifest', 'Run Job (Manifest)', 'Runs a Job to its end.', jobFields),
]
