/** `fairlead init`: looks at the folder, asks at most three questions, and writes the app file. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { AppFolder, DetectedApp } from '@fairlead/model/app-file/detect/detected.ts'
import { type CommandContext, defineCommand } from '../command.ts'
import { exitCodes, Failure, misuse } from '../failure.ts'

const appFilePath = '.fairlead/app.yml'

interface InitFlags {
  readonly force: boolean
  readonly name: string | undefined
  readonly host: string | undefined
  readonly program: string | undefined
}

export const init = defineCommand({
  name: 'init',
  summary: 'look at this folder and write .fairlead/app.yml',
  group: 'app',
  help: 'Asks for name and host. Without a terminal, flags or what was found answer.',
  options: {
    force: { type: 'switch', summary: 'replace an existing file' },
    name: { type: 'text', value: 'NAME', summary: 'name of the application' },
    host: { type: 'text', value: 'HOST', summary: 'name of the host, such as shop.example' },
    program: { type: 'text', value: 'FOLDER', summary: 'program of several in cmd/ of Go' },
  },
  run: async (context, flags) => {
    const file = join(context.cwd, appFilePath)
    if (existsSync(file) && !flags.force)
      throw misuse(
        `${appFilePath} exists already.`,
        'Edit it, or replace it with: fairlead init --force',
      )
    const { openAppFolder } = await import('../app-folder.ts')
    const folder = openAppFolder(context.cwd)
    const detected = await detectApp(context, folder, flags)
    const found = `${detected.title}${detected.because.length === 0 ? '' : `, by ${detected.because.join(', ')}`}`
    context.output.note(`Found: ${found}`)
    for (const { name, command } of detected.services)
      context.output.note(
        `  ${name}: ${command ?? (detected.language.kind === 'container' ? 'command of the image' : 'pages')}`,
      )
    if (detected.language.kind === 'container')
      context.output.note(
        `${detected.language.file} needs podman or Docker on the machine of Fairlead. Without them, write "web: COMMAND" into a Procfile, and build: procfile into the file.`,
      )
    const variables = await variablesOf(folder)
    if (existsSync(join(context.cwd, '.env')))
      context.output.note(
        '.env is never sent. Set what the app needs of it: fairlead secret set NAME, and "secrets" in the file, or "env" there.',
      )
    const { findUnread } = await import('@fairlead/model/app-file/detect/others.ts')
    for (const sentence of findUnread(folder, detected)) context.output.note(sentence)
    const servers = detected.databases.filter((type) => type !== 'sqlite')
    if (servers.length < detected.databases.length)
      context.output.note(
        'It uses SQLite, whose file belongs into a volume: each version has a folder of its own, and would begin anew. Give the service "volumes: [{ name: data, path: /data }]", and the program the folder in FAIRLEAD_VOLUME_DATA; the command "release" has no volume.',
      )
    if (servers.length > 0)
      context.output.note(
        `Its packages use ${servers.join(' and ')}: "attach" in the file runs one for it; the address of yours is a secret: fairlead secret set NAME.`,
      )
    const hasWeb = detected.services.some(({ isWeb }) => isWeb)
    if (!hasWeb)
      context.output.note(
        'No program of the Procfile is named web, so none gets requests: name one web, or give it "hosts" in the file.',
      )
    const name = await askName(context, folder, flags)
    const host = hasWeb ? await askHost(context, name, flags) : `${name}.localhost`
    const { formatAppFile } = await import('../app-file-text.ts')
    const text = formatAppFile({
      ...{ name, host, detected, variables },
      schema: schemaAddress(context),
    })
    await checkText(text)
    mkdirSync(join(context.cwd, '.fairlead'), { recursive: true })
    writeFileSync(file, text)
    context.output.result(
      { file: appFilePath, application: name, host, found: detected },
      `${appFilePath} is written. Deploy with: fairlead deploy`,
    )
    return exitCodes.done
  },
})

async function detectApp(
  { questions }: CommandContext,
  folder: AppFolder,
  { program }: InitFlags,
): Promise<DetectedApp> {
  const { detect } = await import('@fairlead/model/app-file/detect/detect.ts')
  const { DetectionError } = await import('@fairlead/model/app-file/detect/detected.ts')
  try {
    return await detect(folder, { command: program })
  } catch (error) {
    if (!(error instanceof DetectionError)) throw error
    const { message, remedy, choices } = error
    if (choices.length === 0)
      throw new Failure(exitCodes.misuse, 'NOT_DETECTED', message, { remedy, cause: error })
    const command = await questions.choose({
      message: `${message} Which one answers requests?`,
      flag: `--program ${choices[0]}`,
      choices: choices.map((value) => ({ name: value, value })),
    })
    return detect(folder, { command })
  }
}

async function askName(
  { cwd, questions }: CommandContext,
  folder: AppFolder,
  { name }: InitFlags,
): Promise<string> {
  const { names } = await import('@fairlead/model/app-file/values.ts')
  const check = (answer: string): true | string =>
    names.application.test(answer) ||
    'A name has at most 50 lower-case letters and digits, and begins with a letter.'
  if (name !== undefined) {
    const verdict = check(name)
    if (verdict !== true) throw misuse(`"${name}" is no name of an application.`, verdict)
    return name
  }
  const suggested =
    toName((await packageName(folder)) ?? basename(cwd)) ?? toName(basename(cwd)) ?? 'app'
  if (!questions.canAsk) return suggested
  return questions.text({
    message: 'Name of the application',
    flag: '--name',
    default: suggested,
    check,
  })
}

async function packageName(folder: AppFolder): Promise<string | undefined> {
  const text = await folder.read('package.json')
  return /"name"\s*:\s*"(?:@[^/"]+\/)?([^"]+)"/.exec(text ?? '')?.[1]
}

/** Names of a file for development; those of Fairlead itself are given. */
async function variablesOf({ read }: AppFolder): Promise<string[]> {
  const text = (await read('.env')) ?? (await read('.env.example')) ?? (await read('.env.sample'))
  const names = (text ?? '').matchAll(/^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=/gm)
  return [...new Set([...names].map(([, name = '']) => name))].filter(
    (name) => !['PORT', 'HOST', 'NODE_ENV'].includes(name),
  )
}

function toName(text: string): string | undefined {
  const name = text
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/^\d+/, '')
    .slice(0, 50)
  return name === '' ? undefined : name
}

async function askHost(
  { questions }: CommandContext,
  name: string,
  { host }: InitFlags,
): Promise<string> {
  const { readHostPlace } = await import('@fairlead/base/names/host-name.ts')
  const check = (answer: string): true | string => {
    const found = readHostPlace(answer)
    return typeof found === 'string' ? `"${answer}" ${found}.` : true
  }
  if (host !== undefined) {
    const verdict = check(host)
    if (verdict !== true) throw misuse(verdict, 'Give a name such as shop.example.')
    return host
  }
  // Browsers look for such names on their own machine.
  const local = `${name}.localhost`
  if (!questions.canAsk) return local
  return questions.text({
    message: 'Host that it answers on',
    flag: '--host',
    default: local,
    check,
  })
}

function schemaAddress({ session }: CommandContext): string | undefined {
  try {
    return `${session.target().url}/apps/schema`
  } catch {
    return undefined
  }
}

async function checkText(text: string): Promise<void> {
  const { formatProblem, readAppFile } = await import('@fairlead/model/app-file/read-app-file.ts')
  const [problem] = readAppFile(text).problems ?? []
  if (problem !== undefined) throw new Error(formatProblem(problem))
}
