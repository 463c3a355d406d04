/** Apps: what a file `.fairlead/app.yml` compiles to, its deployments and their state. */
import { GatewayError } from '@fairlead/base/errors.ts'
import {
  alike,
  countModel,
  flagModel,
  millisecondsModel,
  model,
  nonEmpty,
  TextList,
} from '@fairlead/base/json/schemas.ts'
import { objectOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { operationsWith, polledByUsers, put } from '../declare.ts'
import { readsApplication, writesApplication } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const file = z.string().describe('Text of the app file, YAML of at most 256 KiB.')
const environmentName = nonEmpty.nullish().describe('The first one of the file unless given.')

const Change = z.looseObject({
  kind: z.enum(['application', 'load-balancer', 'pipeline']),
  name: z.string(),
  fields: TextList.optional().describe('Fields that differ.'),
})

const changes = {
  ...alike(z.array(Change), 'creates', 'changes', 'removes'),
  drift: z
    .array(Change)
    .describe('Edited elsewhere since the last deployment; kept unless `overwrite` is set.'),
  ejected: z.boolean().describe('The objects are the user’s own: deployments change none of them.'),
  notes: TextList.describe('What of the file has no effect on this instance.'),
}

const AppPlan = model('AppPlan', 'What a deployment of the file would create or change.', {
  application: z.string(),
  environment: z.string(),
  digest: z.string().describe('Of the file.'),
  ...changes,
})

const AppDeployment = model('AppDeployment', 'A deployment that has started, or waits.', {
  id: z.string().describe('Of the execution.'),
  environment: z.string(),
  version: z.string(),
  image: z.string(),
  waitsFor: z
    .string()
    .nullable()
    .describe('The execution that has to end first; null where it has started.'),
})

const PlanRequest = model('AppPlanRequest', { file, environment: environmentName })

const DeploymentRequest = model('AppDeploymentRequest', {
  file,
  environment: environmentName,
  source: nonEmpty.nullish().describe('Id of an uploaded folder, which is built first.'),
  commit: nonEmpty
    .nullish()
    .describe('Of the folder, for its version; with `-dirty` where files have changed since.'),
  commitDetails: z
    .object({
      message: z.string().nullish(),
      author: z.string().nullish(),
      email: z
        .string()
        .nullish()
        .describe('Of the author, who may be told of rollbacks; no answer has it.'),
      branch: z.string().nullish(),
      timestamp: z.string().nullish().describe('ISO 8601.'),
    })
    .nullish()
    .describe('What Git tells of the commit, for releases and reviews.'),
  image: nonEmpty
    .nullish()
    .describe('In place of a source: an image that exists, such as shop:7-4f7c2d1.'),
  message: z.string().nullish().describe('For people, in the list of runs.'),
  overwrite: z.boolean().nullish().describe('Writes over what was edited elsewhere.'),
})

const invalid = {
  400: 'The file has errors, which `errors` lists with their lines; or a secret is not set.',
}

const StartedRun = AppDeployment.partial()

const AppRun = z.looseObject({
  id: z.string().describe('Of the execution.'),
  kind: z.enum(['deployment', 'rollback', 'promotion', 'restart']),
  version: z.string(),
  user: z.string(),
  status: z.string().describe('As of the execution; UNKNOWN once that was deleted.'),
  createdMs: millisecondsModel,
})

const AppService = z.looseObject({
  name: z.string(),
  cluster: z.string(),
  version: z.string().nullable().describe('What serves; null while nothing does.'),
  ...alike(countModel, 'ready', 'wanted'),
  hosts: TextList,
  reasons: TextList.optional().describe(
    'What its instances say: why some are not ready, or were started again.',
  ),
  problems: TextList.optional().describe('Why clients cannot reach its hosts.'),
  schedule: z.string().optional(),
})

const AppStatus = model('AppStatus', 'What serves where.', {
  application: z.string(),
  digest: z.string().describe('Of the file that was deployed last.'),
  ejected: z.boolean(),
  environments: z
    .array(
      z.looseObject({
        name: z.string(),
        account: z.string(),
        services: z.array(AppService),
        lastRun: AppRun.nullable(),
        waiting: z
          .array(z.looseObject({ id: z.string(), version: z.string(), reason: z.string() }))
          .describe('Runs that wait, and for what.'),
      }),
    )
    .describe('In the order of promotion.'),
})

const RollbackRequest = model('AppRollbackRequest', {
  environment: environmentName,
  to: nonEmpty.nullish().describe('A version that is kept; the one before unless given.'),
})
const PromotionRequest = model('AppPromotionRequest', {
  to: nonEmpty.nullish().describe('The environment; the second one of the file unless given.'),
  message: z.string().nullish(),
})
const ScaleRequest = model('AppScaleRequest', {
  environment: environmentName,
  services: z
    .record(z.string(), z.int().min(0).max(100))
    .describe('Numbers of instances by the name of the service.'),
})
const SecretRequest = model('AppSecretRequest', {
  value: z.string().min(1).describe('No operation returns it.'),
  stage: z
    .boolean()
    .nullish()
    .describe('Nothing is started anew: the next deployment takes the value.'),
})
const SecretUse = model('AppSecretUse', 'A secret that was set, and what uses it.', {
  name: z.string(),
  version: z.int().optional(),
  usedBy: TextList.describe('Environment and service.'),
  runs: z.array(StartedRun).describe('Runs that start them anew.'),
})

const Variables = model('AppVariables', {
  environment: z.string(),
  variables: z.array(
    z.looseObject({
      name: z.string(),
      value: z
        .string()
        .nullable()
        .describe('`******` for a secret; null where each instance has another.'),
      source: z.string().describe('`file`, or the secret, database or instance that gives it.'),
    }),
  ),
})

const Domain = model('AppDomain', 'A host of an app on the front of this machine.', {
  host: z.string(),
  application: z.string().describe('Whose it is.'),
  claimedMs: millisecondsModel,
  isAdded: z.boolean().describe('A user has added it, beside those of the app file.'),
  loadBalancers: TextList.describe('Those that serve it.'),
  address: z.string().optional().describe('URL; missing where nothing serves it.'),
  certificate: z
    .looseObject({
      state: z.enum(['waiting-dns', 'ordering', 'valid', 'failing', 'limited', 'expired']),
      cause: z.string().optional(),
      endMs: millisecondsModel.optional().describe('End of the certificate that is served.'),
      nextMs: millisecondsModel.describe('When Fairlead tries or looks again.'),
    })
    .optional()
    .describe('Of a host that gets one by ACME.'),
})
const DomainRequest = model('AppDomainRequest', {
  loadBalancer: nonEmpty
    .nullish()
    .describe('Gets the requests, such as shop-web. May be left out where there is one.'),
})

const ConnectionRequest = model('AppConnectionRequest', {
  repository: z.string().describe('Address of a Git repository.'),
  branch: nonEmpty
    .nullish()
    .describe('That is deployed to the first environment; main unless given.'),
  source: z
    .enum(['github', 'gitlab', 'bitbucket', 'gitea', 'forgejo', 'gogs', 'git'])
    .nullish()
    .describe('Host of the repository; git for one without webhooks.'),
  account: nonEmpty.nullish().describe('Artifact account for Git; public repositories need none.'),
})
const Connection = model('AppConnection', 'A repository whose pushes deploy an app.', {
  application: z.string(),
  repository: z.string(),
  branch: z.string(),
  source: z.string(),
  webhook: z.string().describe('Path on this server for webhooks of the host.'),
  secret: z.string().describe('For webhooks; no operation shows it again.'),
  problem: z.string().nullish().describe('Why a push could not be read at the moment.'),
})
const Database = z.looseObject({
  environment: z.string(),
  name: z.string(),
  type: z.enum(['postgresql', 'redis', 'valkey', 'mariadb']),
  state: z.enum(['ready', 'starting', 'stopped']),
  address: z.string().nullable().describe('Of this machine; null before its first deployment.'),
  variable: z
    .string()
    .nullable()
    .describe('That gives services its address; null once the file does not attach it any more.'),
  backups: TextList,
  diskUsedPercent: z
    .number()
    .optional()
    .describe('How full the disk of its volumes is; from 95 on, deployments are refused.'),
})
const DatabaseRequest = model('AppDatabaseRequest', { environment: environmentName })
const DatabaseRun = model('AppDatabaseRun', 'A run that has started.', {
  id: z.string().describe('Of the execution.'),
  environment: z.string(),
  name: z.string(),
})

const TaskOfApp = z.string().nullable().describe('Id of the task that does it.')

const apps = operationsWith({ errors: invalid })
const known = operationsWith({ errors: { 404: 'It was not deployed from an app file.' } })
const databases = operationsWith({
  errors: { 404: 'It was not deployed from an app file, or no such database runs.' },
})
const path = '/apps/{application}'

export const appOperations: Operation[] = [
  known.get('getApp', path, 'Get the state of an app', {
    ...polledByUsers,
    demands: readsApplication,
    description:
      'For each environment and service the version that serves, ready and wanted instances and hosts; the last run, and what waits for whom.',
    forward: `orca ${path}`,
    answer: AppStatus,
  }),
  known.remove('deleteApp', path, 'Delete an app', {
    demands: writesApplication,
    description:
      'Starts a task that stops its services and deletes its load balancers, its pipelines and the application. Volumes stay. With `account`, it ' +
      'only stops what is left in an account that the file no longer names.',
    query: { account: nonEmpty.optional().describe('An account that its file has named before.') },
    forward: `orca ${path}`,
    answer: z.looseObject({ application: z.string(), task: TaskOfApp }),
  }),
  apps.post('planApp', `${path}/plan`, 'Check an app file', {
    demands: readsApplication,
    changesNothing: true,
    description: 'What a deployment of the file would create or change. Nothing is written.',
    forward: `orca ${path}/plan`,
    body: PlanRequest,
    answer: AppPlan,
    cost: 5,
  }),
  apps.post('deployApp', `${path}/deployments`, 'Deploy an app', {
    demands: writesApplication,
    description:
      'Compiles the file to the application, load balancers and pipelines that it needs, and starts a run that builds the source and deploys it to an ' +
      'environment. A second deployment of an environment waits for the first.',
    forward: `orca ${path}/deployments`,
    body: DeploymentRequest,
    success: 202,
    answer: AppDeployment.extend({ application: z.string(), digest: z.string(), ...changes }),
    cost: 5,
  }),
  known.post('rollBackApp', `${path}/rollback`, 'Roll an app back', {
    demands: writesApplication,
    description:
      'Starts a run that deploys a version again, with the file that it was deployed with. The release command does not run. ' +
      'With `dryRun`, nothing starts and the answer has no `id`.',
    query: { dryRun: flagModel.optional() },
    forward: `orca ${path}/rollback`,
    body: RollbackRequest,
    answer: StartedRun,
    errors: { 400: 'The version is not kept; `keptVersions` has those that are.' },
    cost: 5,
  }),
  known.post('promoteApp', `${path}/promotions`, 'Promote an app', {
    demands: writesApplication,
    description:
      'Starts a run that deploys what the environment before serves, once what `promote` of the file demands holds.',
    forward: `orca ${path}/promotions`,
    body: PromotionRequest,
    success: 202,
    answer: StartedRun,
    cost: 5,
  }),
  known.put('scaleApp', `${path}/scale`, 'Scale services of an app', {
    demands: writesApplication,
    description: 'Holds until `instances` of the service changes in the file.',
    forward: `orca ${path}/scale`,
    body: ScaleRequest,
    answer: z.looseObject({
      environment: z.string(),
      task: TaskOfApp,
      services: z.array(
        z.looseObject({ name: z.string(), ...alike(countModel, 'before', 'after') }),
      ),
    }),
  }),
  known.get('getAppVariables', `${path}/variables`, 'List variables of an app', {
    demands: readsApplication,
    description:
      'Variables of the services in an environment, with their sources. Secrets are masked.',
    query: { environment: nonEmpty.optional() },
    forward: `orca ${path}/variables`,
    answer: Variables,
  }),
  known.get('getAppDomains', `${path}/domains`, 'List hosts of an app', {
    demands: readsApplication,
    description: 'Hosts that belong to the application, with the states of their certificates.',
    forward: `clouddriver ${path}/domains`,
    answer: z.array(Domain),
    errors: {},
  }),
  known.put('addAppDomain', `${path}/domains/{host}`, 'Add a host to an app', {
    demands: writesApplication,
    description:
      'The front of this machine serves the host by a service of the app, whatever its file says, until it is removed or the load ' +
      'balancer is deleted. Needs WRITE on the account, too.',
    forward: `clouddriver ${path}/domains/{host}`,
    body: DomainRequest,
    answer: Domain,
    errors: {
      400: 'The host is not valid, or several load balancers could serve it.',
      404: 'No load balancer of the app has hosts.',
      409: 'The host belongs to another application, or the operator has reserved it.',
    },
  }),
  known.remove('removeAppDomain', `${path}/domains/{host}`, 'Remove a host from an app', {
    demands: writesApplication,
    forward: `clouddriver ${path}/domains/{host}`,
    answer: z.looseObject({ host: z.string(), application: z.string(), removed: z.boolean() }),
    errors: {
      404: 'The host does not belong to the application.',
      409: 'The app file has the host: remove it there.',
    },
  }),
  put('setAppSecret', `${path}/secrets/{name}`, 'Set a secret of an app', {
    demands: writesApplication,
    description:
      'Gives a secret of the application a new value, says what uses it, and starts that anew with the version it runs, unless `stage` is set.',
    body: SecretRequest,
    handle: setSecret,
    answer: SecretUse,
    errors: { 404: 'The definition store is external and keeps no secrets.' },
    cost: 5,
  }),
  known.put('connectApp', `${path}/connection`, 'Connect an app with its repository', {
    demands: writesApplication,
    description:
      'A push to the branch does what a deployment of its folder does: by a pipeline with a git trigger that looks at the repository from ' +
      'time to time, and at once by webhooks. Where the app file has `preview`, other branches get environments of their own.',
    forward: `orca ${path}/connection`,
    body: ConnectionRequest,
    answer: Connection,
    errors: {
      400: 'The address of the repository is wrong or not allowed.',
      404: 'The app is not known, or the server has no such repository.',
      409: 'The app is ejected, or has a pipeline of that name.',
    },
  }),
  known.remove('disconnectApp', `${path}/connection`, 'Disconnect an app from its repository', {
    demands: writesApplication,
    forward: `orca ${path}/connection`,
    answer: z.looseObject({ application: z.string(), disconnected: z.boolean() }),
  }),
  known.get('getAppDatabases', `${path}/databases`, 'List databases of an app', {
    demands: readsApplication,
    description:
      'Databases that the file attaches, and those that run and are not in it any more; with the names of their backups, newest first.',
    forward: `orca ${path}/databases`,
    answer: z.looseObject({ application: z.string(), databases: z.array(Database) }),
  }),
  databases.post('backUpAppDatabase', `${path}/databases/{name}/backups`, 'Back up a database', {
    demands: writesApplication,
    description: 'Starts a run that backs a database up, besides its schedule.',
    forward: `orca ${path}/databases/{name}/backups`,
    body: DatabaseRequest,
    success: 202,
    answer: DatabaseRun,
  }),
  databases.post('restoreAppDatabase', `${path}/databases/{name}/restore`, 'Restore a database', {
    demands: writesApplication,
    description:
      'Starts a run that loads a backup into a new folder, which takes the place of the present one when it is complete; the database does not ' +
      'answer meanwhile. A backup that cannot be loaded changes nothing.',
    forward: `orca ${path}/databases/{name}/restore`,
    body: DatabaseRequest.extend({
      from: nonEmpty.nullish().describe('Name of a backup; the newest unless given.'),
      confirm: z.string().nullish().describe('The name of the application, once more.'),
    }),
    success: 202,
    answer: DatabaseRun,
    errors: { 400: 'The name of the application is not in `confirm`.' },
  }),
  databases.post('upgradeAppDatabase', `${path}/databases/{name}/upgrade`, 'Upgrade a database', {
    demands: writesApplication,
    description:
      'Starts a run that backs a database up and restarts it with the programs that are installed now; with `to`, it moves PostgreSQL to that ' +
      'major version by a dump into a new folder. An upgrade that fails, or gives a table another number of rows, changes nothing.',
    forward: `orca ${path}/databases/{name}/upgrade`,
    body: DatabaseRequest.extend({
      to: nonEmpty.nullish().describe('Major version of PostgreSQL, such as 17.'),
    }),
    success: 202,
    answer: DatabaseRun,
    errors: {
      400: '`to` is no major version that is installed, or the database is not PostgreSQL.',
    },
  }),
  databases.post('rotateAppDatabase', `${path}/databases/{name}/rotation`, 'Rotate a password', {
    demands: writesApplication,
    description:
      'Starts a run that deploys the services anew with another password, and, for PostgreSQL and MariaDB, another user, with the versions that ' +
      'they have. Then it restarts the database, which refuses the former password from then on. A run that fails leaves the former one valid, and ' +
      'the next call goes on with it.',
    forward: `orca ${path}/databases/{name}/rotation`,
    body: DatabaseRequest,
    success: 202,
    answer: DatabaseRun,
    errors: {
      400: 'The app file does not attach it any more.',
      409: 'The app is ejected, a pipeline was edited elsewhere, its first deployment runs, or an older version has started the database.',
    },
  }),
  databases.post('removeAppDatabase', `${path}/databases/{name}/removal`, 'Delete a database', {
    demands: writesApplication,
    description:
      'Starts a run that backs a database up, stops it and deletes its data. The last backup stays. Nothing else deletes a database.',
    forward: `orca ${path}/databases/{name}/removal`,
    body: DatabaseRequest.extend({
      confirm: z.string().nullish().describe('The name of the database, once more.'),
    }),
    success: 202,
    answer: DatabaseRun,
    errors: {
      400: 'The name of the database is not in `confirm`, or the app file attaches it.',
    },
  }),
  known.post('ejectApp', `${path}/eject`, 'Eject an app', {
    demands: writesApplication,
    description:
      'Gives the compiled objects to the user: their marks go, and deployments change none of them any more.',
    forward: `orca ${path}/eject`,
    answer: z.looseObject({ application: z.string(), ejected: z.boolean(), objects: TextList }),
  }),
]

/** The value goes to the definition store alone. */
async function setSecret(request: OperationRequest, { upstreams }: Platform): Promise<unknown> {
  if (!upstreams.traitsOf('front50').keepsSecrets)
    throw new GatewayError(
      'NOT_FOUND',
      'An external definition store (services.front50) keeps no secrets: use the embedded one.',
    )
  const { application = '', name = '' } = request.path
  const { value, stage } = request.body as z.output<typeof SecretRequest>
  const set = await request.json('front50', {
    method: 'PUT',
    path: pathTo`/secrets/application/${application}/${name}`,
    body: { value },
  })
  const use = await request.json('orca', {
    method: 'POST',
    path: pathTo`/apps/${application}/secrets/${name}/uses`,
    body: { restarts: stage !== true },
  })
  return { ...objectOf(set), ...objectOf(use), name }
}
