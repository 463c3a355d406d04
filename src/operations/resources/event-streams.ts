/** Event streams: changes of executions and tasks as Server-Sent Events. */
import { z } from 'zod'
import { eventStreamType } from '../../live/event-stream.ts'
import type { LiveSubject } from '../../live/source.ts'
import { get } from '../declare.ts'
import { streamsApplication, streamsExecution, streamsTask } from '../demands.ts'
import { LiveAnswer, type Operation } from '../operation.ts'

const common =
  'Server-Sent Events. Other events: `resync`: events were missed, read the state again; `stale` and `fresh`: the orchestrator ' +
  'has stopped or begun to answer; `end`: the stream ends, with the reason. Send `Last-Event-ID` to continue. docs/guides/live-data.md ' +
  'describes all of them.'

const tooMany = {
  429: 'The caller has too many event streams open.',
  503: 'The replica serves as many event streams as it may, or is stopping.',
}

type Stream = Pick<Operation, 'demands' | 'summary'> & { description: string; kind: LiveSubject['kind']; unknown?: string }

function stream(id: string, path: string, { demands, summary, description, kind, unknown }: Stream): Operation {
  return get(id, path, {
    demands,
    summary,
    description: `${description} ${common}`,
    handle: async (request) => new LiveAnswer({ kind, name: request.path[kind === 'application' ? kind : 'id'] ?? '' }),
    answer: z.string(),
    answerType: eventStreamType,
    errors: unknown === undefined ? tooMany : { 404: unknown, ...tooMany },
  })
}

export const executionStreamOperations: Operation[] = [
  stream('streamExecutionUsingGET', '/executions/{id}/events', {
    demands: streamsExecution,
    summary: 'Follow an execution',
    description:
      'Streams the changes of an execution. Each event `execution` has the whole summary: its state and that of its stages, without contexts and outputs. The first comes at once.',
    unknown: 'There is no execution with this id.',
    kind: 'execution',
  }),
  stream('streamExecutionsUsingGET', '/applications/{application}/executions/events', {
    demands: streamsApplication,
    summary: 'Follow executions of an application',
    description:
      'Streams the changes of an application. Begins with `ready`, which names the parts that are reported. Each event `execution` has the summary of an execution that has changed or is new; `removed` has the id of one that was deleted; `changed` names a part to read again: `tasks`, `infrastructure` or `definitions`, where its service is embedded.',
    kind: 'application',
  }),
]

export const taskStreamOperations: Operation[] = [
  stream('streamTaskUsingGET', '/tasks/{id}/events', {
    demands: streamsTask,
    summary: 'Follow a task',
    description:
      'Streams the changes of a task. Each event `task` has the whole summary: its state and that of its steps. The first comes at once.',
    unknown: 'There is no task with this id.',
    kind: 'task',
  }),
]
