/** Descriptions of the stage types that run builds. */
import { waitsForCompletion } from './common.ts'
import {
  flag,
  longText,
  map,
  number,
  type StageDescription,
  stagesOf,
  text,
} from './description.ts'

const builds = stagesOf('Builds')

const host = text('master', 'The build server.', { required: true, choicesFrom: 'build-hosts' })
const job = text('job', 'The job; those in folders are written as the build server lists them.', {
  required: true,
  choicesFrom: 'build-jobs',
})

const results = [
  waitsForCompletion,
  text(
    'propertyFile',
    'File that the build archives: its properties become outputs. Its name says the form: .yml, .json or lines.',
  ),
  flag('markUnstableAsSuccessful', 'Accepts a build with failed tests.'),
]

/** Fields of stages that run a job that they name. */
export const buildFields = [
  host,
  job,
  map('parameters', 'Values of the parameters of the job.'),
  ...results,
]

export const script = builds.pipeline(
  'script',
  'Run a script',
  'Runs a command with the job of `script.master` and `script.job`.',
  [
    longText('command', 'The command; the job gets it as COMMAND.'),
    text('repoUrl', 'Repository in which the command runs, as REPO_URL.'),
    text('repoBranch', 'Its branch, as REPO_BRANCH.'),
    text('scriptPath', 'Folder of the repository in which the command runs, as SCRIPT_PATH.'),
    text('job', 'The job; unless given, `script.job`.'),
    text('account', 'Account that the command is about, as ENV_PARAM.', {
      choicesFrom: 'accounts',
    }),
    text('region', 'Region that it is about, as REGION_PARAM.', { choicesFrom: 'regions' }),
    text('cluster', 'Cluster that it is about, as CLUSTER_PARAM.', { choicesFrom: 'clusters' }),
    text('image', 'Image that it is about, as IMAGE_ID.', { choicesFrom: 'images' }),
    text('cmc', 'Change ticket, as CMC.'),
    ...results,
  ],
)

export const buildStages: readonly StageDescription[] = [
  builds.pipeline(
    'jenkins',
    'Run a build',
    'Runs a job of any build server, and hands the results of the build on.',
    buildFields,
  ),
  builds.pipeline(
    'travis',
    'Run a Travis build',
    'Does what `jenkins` does, under the name that clients have for Travis.',
    buildFields,
  ),
  builds.pipeline(
    'gitlab-ci',
    'Run a GitLab build',
    'Does what `jenkins` does, for pipelines of GitLab CI.',
    buildFields,
  ),
  script,
  builds.task('stopBuild', 'Stop a build', 'Stops a build, or takes it out of the queue.', [
    host,
    job,
    text('queuedBuild', 'Its queue item.', { required: true }),
    number('buildNumber', 'Its number; unless given, that which the queue item has by now.'),
  ]),
]
