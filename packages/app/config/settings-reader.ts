/** Reader of groups of settings: each with its checks, whose problems and notices it collects by key. */
import type { SettingGroup, SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { z } from 'zod'
import { type BindContext, bindKeys, bindSettings } from './bind.ts'
import type { Problem } from './problems.ts'
import { findNearest, findNode } from './tree.ts'

export class SettingsReader {
  readonly report: SettingsReport
  readonly #context: BindContext

  constructor(context: BindContext, notices: string[]) {
    this.#context = context
    this.report = createReport(context, notices)
  }

  keys<S extends z.ZodObject>(keys: S): z.infer<S> {
    return bindKeys(keys, this.#context)
  }

  group<Values>(group: SettingGroup<Values>): Values {
    return bindSettings(group, this.#context)
  }

  /** @param toSettings Checks the values of the group, and makes of them what the capability takes */
  read<Values, Settings, Rest extends unknown[]>(
    group: SettingGroup<Values>,
    toSettings: (values: Values, report: SettingsReport, ...rest: Rest) => Settings,
    ...rest: Rest
  ): Settings {
    return toSettings(this.group(group), this.report, ...rest)
  }
}

function createReport(
  { root, problems, placeholders }: BindContext,
  notices: string[],
): SettingsReport {
  const own = new Set<Problem>()
  return {
    problem: (key, message) => {
      const path = key.split('.')
      const { node, depth } = findNearest(root, path)
      const isWrongItself = problems.some(
        (problem) => problem.key === key && problem.origin === node.origin && !own.has(problem),
      )
      // A check sees the default of a value that could not be read.
      if (isWrongItself && depth === path.length) return
      const problem = { origin: depth === 0 ? undefined : node.origin, key, message }
      own.add(problem)
      problems.push(problem)
    },
    notice: (message) => notices.push(message),
    isSet: (key) => findNode(root, key.split('.')) !== undefined,
    variable: (name) => placeholders.fill(`\${${name}:}`) || undefined,
  }
}
