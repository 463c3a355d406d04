/** JSON schema of the app file, for editors. */
import { z } from 'zod'
import { AppFileSchema } from './app-file.ts'

let made: Record<string, unknown> | undefined

export function appFileJsonSchema(): Record<string, unknown> {
  made ??= {
    ...z.toJSONSchema(AppFileSchema, { io: 'input', reused: 'inline' }),
    title: 'Fairlead app file',
  }
  return made
}
