/** The file of the image of an uploaded folder, `fairlead-image.yml`, where the folder has none. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BuilderError } from '@fairlead/base/outside/builder-process.ts'

/** The command is for `sh`; folders of programs come first in `PATH`. */
export interface ImageDefaults {
  readonly command: string | undefined
  readonly environment: Readonly<Record<string, string>>
  readonly programs: readonly string[]
}

/** @param path `PATH` of the build, which programs of this machine are found by @throws {BuilderError} where nothing says what runs */
export function writeImageFile(
  image: string,
  { command, environment, programs }: ImageDefaults,
  path: string,
): void {
  const file = join(image, 'fairlead-image.yml')
  if (existsSync(file)) return
  if (command === undefined)
    throw new BuilderError(
      'Nothing says which program runs. Give a command in .fairlead/app.yml, such as services: {web: {command: node server.js}}.',
    )
  const present = programs.filter((folder) => existsSync(join(image, folder)))
  // Relative to the working directory of an instance, which is a copy of the image.
  const found = present.length === 0 ? {} : { PATH: [...present, path].join(':') }
  const content = {
    command: ['sh', '-c', `exec ${command}`],
    environment: { ...environment, ...found },
  }
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
}
