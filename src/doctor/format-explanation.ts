/** An explanation as text: steps, user, roles with their origin, permissions. */
import { joinNames } from '../login/trace.ts'
import type { Explanation, Judgement } from './explain-login.ts'

const marks = { yes: 'yes ', no: 'no  ', note: '-   ' } as const

export function formatExplanation(explanation: Explanation): string {
  const { judgements, user, roles, permissions, notes, admitted } = explanation
  return [
    ...notes.map((note) => `note: ${note}`),
    ...judgements.flatMap(formatJudgement),
    ...(user === undefined
      ? []
      : [
          `User: ${user.username}, e-mail address ${user.email ?? 'none'}, name ${[user.firstName, user.lastName].filter(Boolean).join(' ') || 'none'}`,
          `Roles: ${joinNames(roles.map(({ role, from }) => `${role} (${from})`))}`,
          `Accounts: ${joinNames(user.allowedAccounts)}`,
        ]),
    ...permissions.map((sentence) => `Permission service: ${sentence}`),
    ...(judgements.length === 0 && !admitted ? ['No login method of this configuration takes this.'] : []),
    '',
  ].join('\n')
}

function formatJudgement({ method, steps, user, reason }: Judgement): string[] {
  const result = user === undefined ? `Not let in: ${reason}` : `Let in as ${user.username}`
  return [`Login by ${method}`, ...steps.map(({ verdict, text }) => `  ${marks[verdict]} ${text}`), result, '']
}
