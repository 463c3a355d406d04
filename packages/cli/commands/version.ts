/** `fairlead version`. */
import { defineCommand } from '../command.ts'
import { packageVersion } from '../version.ts'

export const version = defineCommand({
  name: 'version',
  summary: 'print the version',
  run: async ({ output }) => {
    const version = packageVersion()
    output.result({ version }, version)
  },
})
