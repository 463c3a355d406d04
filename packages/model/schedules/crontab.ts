/** Cron expressions with five fields, as crontab has them, in the Quartz dialect of triggers. */
import { parseCron } from './cron-expression.ts'

const aliases: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

/**
 * Two expressions where both kinds of day are given: crontab fires when either holds.
 *
 * @throws {Error} with a message for the person who wrote the expression.
 */
export function toQuartz(crontab: string): string[] {
  const text = crontab.trim()
  const fields = (aliases[text.toLowerCase()] ?? text).split(/\s+/)
  if (fields.length !== 5)
    throw new Error(
      `It has ${text === '' ? 0 : fields.length} fields; it needs 5: minute, hour, day of month, month, day of week.`,
    )
  const [minute, hour, day, month, weekDay] = fields as [string, string, string, string, string]
  const foreign = /[^\w*,/-]/.exec(fields.join(''))?.[0]
  if (foreign !== undefined) throw new Error(`"${foreign}" has no meaning in crontab.`)
  const time = `0 ${minute} ${hour}`
  const byDay = `${time} ${day} ${month} ?`
  const byWeekDay = `${time} ? ${month} ${weekDay.split(',').map(toQuartzWeekDays).join(',')}`
  const chosen = weekDay === '*' ? [byDay] : day === '*' ? [byWeekDay] : [byDay, byWeekDay]
  for (const expression of chosen) parseCron(expression)
  return chosen
}

/** Crontab counts from Sunday, which is 0 or 7; Quartz from 1. */
function toQuartzWeekDays(item: string): string {
  const [days = '', ...step] = item.split('/')
  if (days === '*') return item
  return [days.split('-').map(toQuartzWeekDay).join('-'), ...step].join('/')
}

function toQuartzWeekDay(day: string): string {
  if (!/^\d+$/.test(day)) return day
  if (Number(day) > 7) throw new Error(`The day of week ${day} is not between 0 and 7.`)
  return String((Number(day) % 7) + 1)
}
