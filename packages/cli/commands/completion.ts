/** `fairlead completion`: scripts for shells, which ask `fairlead complete` for the words that fit. */
import { readFileSync } from 'node:fs'
import { type CommandEntry, defineCommand } from '../command.ts'
import { misuse } from '../failure.ts'
import { operatorCommands } from '../operator-commands.ts'
import type { Session } from '../session.ts'

const bash = `_fairlead() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(fairlead complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fairlead fairlead`

const zsh = `#compdef fairlead
_fairlead() {
  local -a found
  found=("\${(@f)$(fairlead complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _fairlead fairlead`

const fish = `complete -c fairlead -f -a '(fairlead complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish }

export const completion = defineCommand({
  name: 'completion',
  summary: 'print the completion for a shell: bash, zsh or fish',
  words: '<shell>',
  help: `bash: source <(fairlead completion bash)
zsh:  source <(fairlead completion zsh)
fish: fairlead completion fish | source`,
  run: async ({ output, words: [shell = ''] }) => {
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (script === undefined)
      throw misuse(`There is no completion for "${shell}".`, 'Use bash, zsh or fish.')
    output.result({ shell, script }, script)
  },
})

/** Commands whose words are services of the application. */
const takeServices = new Set(['logs', 'exec', 'scale'])
const globalFlags = ['app', 'env', 'context', 'url', 'output', 'yes', 'verbose', 'help']

/** What the scripts ask: the words before the cursor are behind `--`, the last of them unfinished. @param commands All commands */
export function createComplete(commands: () => readonly CommandEntry[]): CommandEntry {
  return defineCommand({
    name: 'complete',
    summary: 'print the words that may follow, for the scripts of completion',
    isHidden: true,
    run: async ({ rest, session, output }) => {
      const found = completionsOf(rest, commands(), session)
      output.result(found, found)
    },
  })
}

function completionsOf(
  words: readonly string[],
  commands: readonly CommandEntry[],
  session: Session,
): string[] {
  const [first, ...others] = words.slice(0, -1)
  const typed = words.at(-1) ?? ''
  const before = words.at(-2)
  const all = () => {
    if (before === '--context') return Object.keys(session.file.load().contexts)
    if (before === '--output') return ['text', 'json']
    const names = commands.filter(({ isHidden }) => !isHidden).map(({ name }) => name)
    if (first === undefined) return [...names, ...Object.keys(operatorCommands)]
    const top = commands.find(({ name }) => name === first)
    const command = top?.actions.find(({ name }) => name === others[0]) ?? top
    if (typed.startsWith('-'))
      return [...Object.keys(command?.options ?? {}), ...globalFlags].map((name) => `--${name}`)
    if (first === 'context' && others.length === 0)
      return [
        ...(command?.actions ?? []).map(({ name }) => name),
        ...Object.keys(session.file.load().contexts),
      ]
    if (first === 'completion') return Object.keys(scripts)
    if (takeServices.has(first)) return servicesOf(session)
    return others.length === 0 ? (command?.actions ?? []).map(({ name }) => name) : []
  }
  return all().filter((name) => name.startsWith(typed))
}

/** From the app file, without a check and without a call: completion must be quick and quiet. */
function servicesOf(session: Session): string[] {
  const found = session.appFile()
  if (found === undefined) return []
  const [, block = ''] =
    /^services:[^\S\n]*\n((?:[ \t]+.*\n?|\s*\n|#.*\n)*)/m.exec(readFileSync(found.path, 'utf8')) ??
    []
  const indent = /^( +)\S/m.exec(block)?.[1]
  return indent === undefined
    ? []
    : [...block.matchAll(/^( +)([a-z][a-z0-9-]*):/gm)].flatMap(([, space, name]) =>
        space === indent && name !== undefined ? [name] : [],
      )
}
