/** Settings of retention: how long executions, tasks and images are kept, and how many of them in any case. */

import {
  optionalFlag,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  texts,
  whole,
} from '@fairlead/base/settings/setting.ts'
import type { RetentionRule } from '@fairlead/ports/retained-kind.ts'

const days = (usual: number) => whole(0, 36_500).default(usual)
const interval = whole(1000, 2_147_483_647)
const chunks = whole(1, 1000).default(1)

export const retentionKeys = settings({
  enabled: setting('retention.enabled', optionalFlag).describe(
    'Whether what is older and more than the keys below say is deleted. Default: in a data directory that this version or a later one has ' +
      'created, or once one of these keys is set.',
  ),
  intervalMs: setting('retention.intervalMs', interval.default(3_600_000)).describe(
    'Milliseconds between two searches for what may be deleted.',
  ),
  executions: {
    days: setting('retention.executions.retentionDays', days(90)).describe(
      'Days that executions of pipelines are kept; 0 keeps them for ever. The attribute `retention` of an application overrides it.',
    ),
    kept: setting('retention.executions.kept', whole(0).default(100)).describe(
      'Newest executions of each pipeline that are kept whatever their age.',
    ),
  },
  tasks: {
    days: setting('retention.tasks.retentionDays', days(30)).describe(
      'Days that tasks are kept; 0 keeps them for ever.',
    ),
    kept: setting('retention.tasks.kept', whole(0).default(100)).describe(
      'Newest tasks of each application that are kept whatever their age.',
    ),
  },
  images: {
    days: setting('retention.images.retentionDays', days(90)).describe(
      'Days that images of this machine are kept; 0 keeps them for ever. Those in use stay.',
    ),
    kept: setting('retention.images.kept', whole(0).default(20)).describe(
      'Newest images of each name that are kept whatever their age.',
    ),
  },
  pipelineCleanup: {
    enabled: setting('pollers.oldPipelineCleanup.enabled', optionalFlag).describe(
      'Deletes executions by the rule of Orca instead: those beyond `thresholdDays` but the newest `minimumPipelineExecutions` of them. ' +
        '`false` keeps executions for ever.',
    ),
    thresholdDays: setting(
      'pollers.oldPipelineCleanup.thresholdDays',
      whole(0, 36_500).default(30),
    ).describe('Age in days beyond which executions are deleted.'),
    kept: setting(
      'pollers.oldPipelineCleanup.minimumPipelineExecutions',
      whole(0).default(5),
    ).describe('Executions of each pipeline beyond that age that are kept.'),
    chunkSize: setting('pollers.oldPipelineCleanup.chunkSize', chunks).describe(
      'Executions that one transaction deletes.',
    ),
    intervalMs: setting('pollers.oldPipelineCleanup.intervalMs', interval.optional()).describe(
      'As `retention.intervalMs`.',
    ),
    exceptional: setting('pollers.oldPipelineCleanup.exceptionalApplications', texts).describe(
      'Applications with another age.',
    ),
    exceptionalDays: setting(
      'pollers.oldPipelineCleanup.exceptionalApplicationsThresholdDays',
      whole(0, 36_500).default(365),
    ).describe('That age, in days.'),
  },
  taskCleanup: {
    enabled: setting('pollers.topApplicationExecutionCleanup.enabled', optionalFlag).describe(
      'Deletes tasks by the rule of Orca instead: all but the newest `threshold` of each application. `false` keeps tasks for ever.',
    ),
    kept: setting(
      'pollers.topApplicationExecutionCleanup.threshold',
      whole(0).default(2500),
    ).describe('Tasks of each application that are kept.'),
    chunkSize: setting('pollers.topApplicationExecutionCleanup.chunkSize', chunks).describe(
      'As that of `pollers.oldPipelineCleanup`, while that is not enabled.',
    ),
    intervalMs: setting(
      'pollers.topApplicationExecutionCleanup.intervalMs',
      interval.optional(),
    ).describe('As that of `pollers.oldPipelineCleanup`, while that is not set.'),
  },
})

export type RetentionSettings = ReturnType<typeof toRetentionSettings>

export function toRetentionSettings(values: Values, { isSet }: SettingsReport) {
  const { pipelineCleanup, taskCleanup, executions, tasks, images, intervalMs } = values
  const isChosen =
    isSet('retention') ||
    isSet('pollers.oldPipelineCleanup') ||
    isSet('pollers.topApplicationExecutionCleanup')
  return {
    /** Undefined: by the age of the data. */
    enabled: values.enabled ?? (isChosen ? true : undefined),
    intervalMs: pipelineCleanup.intervalMs ?? taskCleanup.intervalMs ?? intervalMs,
    chunkSize: [pipelineCleanup, taskCleanup].find((one) => one.enabled === true)?.chunkSize ?? 10,
    executions: toExecutionRule(pipelineCleanup, executions),
    tasks:
      taskCleanup.enabled === undefined
        ? toRule(tasks)
        : taskCleanup.enabled
          ? { days: undefined, kept: taskCleanup.kept }
          : undefined,
    images: toRule(images),
  }
}

type Values = SettingsOf<typeof retentionKeys>

function toExecutionRule(
  { enabled, thresholdDays, kept, exceptional, exceptionalDays }: Values['pipelineCleanup'],
  own: Values['executions'],
): RetentionRule | undefined {
  if (enabled === undefined) return toRule(own)
  if (!enabled) return undefined
  const exceptions = Object.fromEntries(exceptional.map((name) => [name, exceptionalDays]))
  return { days: thresholdDays, kept, countsOldOnly: true, exceptions }
}

/** Undefined: for ever. */
function toRule({ days: age, kept }: { days: number; kept: number }): RetentionRule | undefined {
  return age === 0 ? undefined : { days: age, kept }
}
