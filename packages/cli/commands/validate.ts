/** `fairlead validate`: checks an app file without an instance, for editors and CI. */
import { readFileSync } from 'node:fs'
import { defineCommand } from '../command.ts'
import { exitCodes, Failure, misuse } from '../failure.ts'

export const validate = defineCommand({
  name: 'validate',
  summary: 'check .fairlead/app.yml without an instance',
  group: 'app',
  words: '[file]',
  options: {
    schema: { type: 'switch', summary: 'print the JSON schema of the file instead' },
  },
  run: async ({ session, output, words: [given] }, { schema }) => {
    if (schema) {
      const { appFileJsonSchema } = await import('@fairlead/model/app-file/json-schema.ts')
      const document = appFileJsonSchema()
      output.result(document, JSON.stringify(document, null, 2))
      return exitCodes.done
    }
    const file = given ?? session.appFile()?.path
    if (file === undefined)
      throw misuse('There is no .fairlead/app.yml here or above.', 'Write it: fairlead init')
    const { formatProblem, readAppFile } = await import('@fairlead/model/app-file/read-app-file.ts')
    const { environmentNamesOf } = await import('@fairlead/model/app-file/merge-environment.ts')
    const read = readAppFile(readFileSync(file, 'utf8'))
    if (read.problems === undefined) {
      const { application, services } = read.file
      const environments = environmentNamesOf(read.file)
      output.result(
        { file, application, services: Object.keys(services), environments },
        `${file} is valid: application ${application}, services ${Object.keys(services).join(', ')}, environments ${environments.join(', ')}.`,
      )
      return exitCodes.done
    }
    const lines = read.problems.map((problem) => formatProblem(problem, file))
    throw new Failure(exitCodes.misuse, 'APP_FILE_INVALID', `\n${lines.join('\n')}`, {
      line: read.problems[0]?.line,
    })
  },
})
