/** `exec` and `run`: programs in an instance, and commands that run once. */
import { runAttached } from '../attached-program.ts'
import { defineCommand } from '../command.ts'
import { misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'

export const exec = defineCommand({
  name: 'exec',
  summary: 'run a program in an instance',
  group: 'app',
  words: '[service]',
  options: {
    instance: { type: 'text', value: 'ID', summary: 'By default the oldest that is ready' },
    interactive: { type: 'switch', short: 'i', summary: 'Keep the input open (always so)' },
    tty: { type: 'switch', short: 't', summary: 'Fail where there is no terminal' },
  },
  help:
    'Without a command, it is a shell. The exit code is that of the program; 126: it cannot be executed,\n' +
    '127: it was not found, 125: Fairlead failed.\n\nExamples:\n  fairlead exec web\n  fairlead exec web -- ls -l',
  run(context, { instance, tty }) {
    const { words, rest, session } = context
    return runAttached(context, {
      application: session.app(),
      kind: 'exec',
      body: {
        environment: session.environment(),
        service: words[0],
        instance,
        command: rest,
      },
      terminal: tty,
    })
  },
})

export const run = defineCommand({
  name: 'run',
  summary: 'run a command once, as the serving version runs',
  group: 'app',
  words: '[command...]',
  passesThrough: true,
  options: {
    service: { type: 'text', value: 'NAME', summary: 'Whose image and variables it has' },
    detach: { type: 'switch', summary: 'As a run that goes on without this client' },
    timeout: { type: 'span', value: 'TIME', summary: 'End it after this time' },
  },
  help: 'Example:\n  fairlead run -- bin/rails db:migrate',
  async run(context, { service, detach, timeout }) {
    const { words, rest, session, output, connect } = context
    const command = [...words, ...rest]
    if (command.length === 0) throw misuse('No command is given.', 'fairlead run -- COMMAND')
    const application = session.app()
    const body = {
      environment: session.environment(),
      service,
      command,
      ...(timeout !== undefined && { timeoutSeconds: Math.max(1, Math.ceil(timeout / 1000)) }),
    }
    if (!detach) return runAttached(context, { application, kind: 'run', body, timeoutMs: timeout })
    const client = await connect()
    const { ref } = await client.post<{ readonly ref: string }>(pathOf`/apps/${application}/run`, {
      ...body,
      detach: true,
    })
    const id = ref.slice(ref.lastIndexOf('/') + 1)
    output.result({ id }, id)
    output.note(`See its end and output: fairlead watch ${id}`)
    return undefined
  },
})
