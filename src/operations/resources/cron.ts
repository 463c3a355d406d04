/** Checks cron expressions while users type them. */
import { z } from 'zod'
import { textModel } from '../../json/schemas.ts'
import { parseObject, textOf } from '../../json/values.ts'
import { get } from '../declare.ts'
import { aboutGateway } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'

const CronVerdict = z
  .looseObject({
    valid: z.boolean(),
    description: z.string().optional().describe('The expression in words, when it is valid.'),
    nextTimes: z
      .array(z.number())
      .optional()
      .describe('When it fires next, in milliseconds since the epoch; from the embedded event service only.'),
    timeZone: z.string().optional().describe('Zone of the schedule, such as `Europe/Berlin`.'),
    message: z.string().optional().describe('What is wrong with it, when it is not.'),
  })
  .meta({ id: 'CronVerdict' })
type CronVerdict = z.infer<typeof CronVerdict>

export const cronOperations: Operation[] = [
  get('validateCronExpressionUsingGET', '/cron/validate', {
    demands: aboutGateway,
    summary: 'Validate a cron expression',
    description: 'Checks a cron expression. An invalid one is a result, not an error.',
    query: { expression: textModel },
    handle: validate,
    answer: CronVerdict,
  }),
]

async function validate(request: OperationRequest, platform: Platform): Promise<CronVerdict> {
  if (!platform.upstreams.isEnabled('echo')) {
    return { valid: false, message: 'Timer expressions cannot be checked: echo is switched off.' }
  }
  const answer = await request.call('echo', {
    path: '/validateCronExpression',
    query: { cronExpression: request.query['expression'] },
  })
  if (answer.status === 400) return { valid: false, message: messageOf(answer.text) }
  return { ...readObject(answer, 'echo'), valid: true }
}

function messageOf(body: string): string {
  return textOf(parseObject(body)?.['message']) ?? 'The expression is not valid.'
}
