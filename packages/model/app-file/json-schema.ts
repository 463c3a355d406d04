/** JSON schema of the app file, for editors. */
import { z } from 'zod'
import { AppFileSchema } from './app-file.ts'

export function appFileJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(AppFileSchema, { io: 'input', reused: 'inline' })
  return { ...schema, title: 'Fairlead app file' }
}
