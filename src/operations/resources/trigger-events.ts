/** Events of triggers: what each has started, or why it has started nothing. */
import { z } from 'zod'
import { AnyObject, countModel, millisecondsModel, textModel } from '../../json/schemas.ts'
import { operationsWith } from '../declare.ts'
import { adminOfExecutions, readsEventsOfApplication } from '../demands.ts'
import type { Operation } from '../operation.ts'

const TriggerOutcome = z
  .looseObject({
    application: z.string(),
    pipelineId: z.string(),
    pipeline: z.string().describe('Name of the pipeline.'),
    trigger: z.string().describe('Type of the trigger: git, docker, webhook, …'),
    executionId: z.string().nullish().describe('The run that was started.'),
    reason: z.string().nullish().describe('Why nothing was started, or why the run could not begin.'),
  })
  .meta({ id: 'TriggerOutcome', description: 'What became of an event for one trigger that waits for such events.' })

const outcomes = z.enum(['started', 'nothing', 'failed'])

const TriggerEvent = z
  .looseObject({
    id: z.string(),
    time: millisecondsModel,
    type: z.string().describe('git, docker, build, webhook, cron, pipeline, …'),
    source: z.string().describe('Such as `github`, or `poll`.'),
    outcome: outcomes,
    summary: AnyObject.describe('Repository, branch, commit, tag, …'),
    payload: AnyObject.nullish().describe('Part of the body of a webhook, without what proves its sender.'),
    reason: z.string().nullish().describe('Why the event failed, or why no trigger waits for it.'),
    triggers: z.array(TriggerOutcome).describe('Triggers that wait for such events; the first 50 of them.'),
  })
  .meta({ id: 'TriggerEvent' })

const filter = {
  type: textModel.optional().describe('Type of the events.'),
  outcome: outcomes.optional(),
  from: millisecondsModel.optional().describe('Only events since then, in milliseconds since the epoch.'),
  limit: countModel.max(200).optional().describe('Default: 50.'),
  cursor: textModel.optional().describe('Id of the last event of the page before.'),
}

const events = operationsWith({ query: filter, whenDisabled: [], answer: z.array(TriggerEvent) })

const note = 'Only the embedded event service has this operation. Newest first.'

export const triggerEventOperations: Operation[] = [
  events.get('getTriggerEventsUsingGET', '/triggerEvents', {
    demands: adminOfExecutions,
    summary: 'List events of triggers',
    description: `Events that arrived, with what they started or why they started nothing, also those that no trigger waits for. ${note}`,
    forward: { service: 'echo', path: '/events' },
  }),
  events.get('getApplicationTriggerEventsUsingGET', '/applications/{application}/triggerEvents', {
    demands: readsEventsOfApplication,
    summary: 'List events of an application',
    description: `Events for which triggers of an application wait, with what they started or why they started nothing. ${note}`,
    query: { pipeline: textModel.optional().describe('Name or id.'), ...filter },
    forward: { service: 'echo', path: '/events', fromPath: ['application'] },
  }),
]
