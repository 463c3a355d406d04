/** Programs of Java and Rust, and what has no build of its own. */
import { objectList, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { type AppFolder, type DetectedApp, DetectionError, type Language } from './detected.ts'
import { parseToml } from './requirements.ts'

const nothing = { release: undefined, port: undefined, health: undefined, databases: [] } as const

export function detectJar(jar: string): DetectedApp {
  // Spring Boot reads no PORT; other programs ignore the property.
  return program({ kind: 'java', jar }, 'Java', jar, `java -Dserver.port=$PORT -jar ${jar}`)
}

const readCargo = shape({
  main: [shape({ name: textOf, program: [textOf, 'default-run'] }), 'package'],
  bin: objectList(shape({ name: textOf })),
})

export async function detectRust(folder: AppFolder): Promise<DetectedApp> {
  const manifest = parseToml((await folder.read('Cargo.toml')) ?? '', 'Cargo.toml')
  const { main, bin } = readCargo(manifest)
  const programs = bin.flatMap((each) => each.name ?? [])
  const name = main.program ?? (programs.length === 1 ? programs[0] : main.name)
  if (name === undefined)
    throw new DetectionError(
      'Cargo.toml names no package.',
      'Give build.steps and a command in .fairlead/app.yml, or add a Dockerfile.',
    )
  if (!folder.paths.has('Cargo.lock'))
    throw new DetectionError(
      'The folder has no Cargo.lock.',
      'Run "cargo generate-lockfile", and keep the file.',
    )
  const binary = `bin/${name}`
  return program({ kind: 'rust', program: name, binary }, 'Rust', 'Cargo.toml', `./${binary}`)
}

function program(language: Language, title: string, because: string, command: string): DetectedApp {
  return {
    language,
    title,
    because: [because],
    services: [{ name: 'web', command, isWeb: true }],
    ...nothing,
  }
}

export function detectSite(pages: string): DetectedApp {
  return {
    ...nothing,
    language: { kind: 'static', pages },
    title: 'Static pages',
    because: [pages === '.' ? 'index.html' : `${pages}/index.html`],
    services: [{ name: 'web', command: undefined, isWeb: true }],
    health: '/',
  }
}

/** Ports of TCP that the last stage of a Dockerfile exposes. */
function exposedPorts(dockerfile: string): readonly string[] {
  const stages = new Map<string, readonly string[]>()
  let [name, ports]: [string | undefined, readonly string[]] = [undefined, []]
  for (const line of dockerfile.split('\n')) {
    const [word = '', ...rest] = line.trim().split(/\s+/)
    const args = rest.filter((each) => !each.startsWith('--'))
    if (word.toUpperCase() === 'FROM') [name, ports] = [args[2], stages.get(args[0] ?? '') ?? []]
    if (word.toUpperCase() === 'EXPOSE') ports = [...ports, ...args]
    if (name !== undefined) stages.set(name, ports)
  }
  return ports.filter((each) => !each.toLowerCase().endsWith('/udp'))
}

/** The only port that it exposes is the one of the app. */
export async function detectContainer(folder: AppFolder, file: string): Promise<DetectedApp> {
  const exposed = exposedPorts((await folder.read(file)) ?? '')
  const [port, ...others] = new Set(exposed.map((each) => /^(\d{1,5})(?:\/tcp)?$/.exec(each)?.[1]))
  return {
    ...nothing,
    language: { kind: 'container', file },
    title: 'Container image',
    because: [file],
    services: [{ name: 'web', command: undefined, isWeb: true }],
    port: port === undefined || others.length > 0 ? undefined : Number(port),
  }
}

interface Undetected {
  readonly title: string
  readonly image: string
  readonly lines: readonly string[]
}

/** Languages without a build of their own, by a file, with what a Dockerfile would say. */
const undetected: readonly (readonly [RegExp, Undetected])[] = [
  [
    /^Gemfile$/,
    {
      title: 'Ruby',
      image: 'ruby:3.4-slim',
      lines: ['RUN bundle install', 'CMD ["bundle", "exec", "puma", "-p", "8080"]'],
    },
  ],
  [
    /^composer\.json$/,
    {
      title: 'PHP',
      image: 'php:8.4-cli',
      lines: ['CMD ["php", "-S", "0.0.0.0:8080", "-t", "public"]'],
    },
  ],
  [
    /^pom\.xml$/,
    {
      title: 'Maven',
      image: 'maven:3-eclipse-temurin-21',
      lines: ['RUN mvn -q package', 'CMD ["sh", "-c", "java -jar target/*.jar"]'],
    },
  ],
  [
    /^build\.gradle(?:\.kts)?$/,
    {
      title: 'Gradle',
      image: 'gradle:8-jdk21',
      lines: ['RUN gradle assemble', 'CMD ["sh", "-c", "java -jar build/libs/*.jar"]'],
    },
  ],
  [
    /^mix\.exs$/,
    {
      title: 'Elixir',
      image: 'elixir:1.18',
      lines: ['RUN mix deps.get && mix release', 'CMD ["_build/prod/rel/app/bin/app", "start"]'],
    },
  ],
  [
    /^[^/]+\.csproj$/,
    {
      title: '.NET',
      image: 'mcr.microsoft.com/dotnet/sdk:9.0',
      lines: ['RUN dotnet publish -o out', 'CMD ["dotnet", "out/app.dll"]'],
    },
  ],
  [
    /^Pipfile$/,
    {
      title: 'Pipenv',
      image: 'python:3.13-slim',
      lines: ['RUN pip install pipenv && pipenv sync --system', 'CMD ["gunicorn", "app:app"]'],
    },
  ],
  [
    /^deno\.jsonc?$/,
    { title: 'Deno', image: 'denoland/deno:2', lines: ['CMD ["deno", "run", "-A", "main.ts"]'] },
  ],
  [
    /^bun\.lockb?$/,
    {
      title: 'Bun',
      image: 'oven/bun:1',
      lines: ['RUN bun install --frozen-lockfile', 'CMD ["bun", "run", "start"]'],
    },
  ],
]

/** Gives an example that fits. */
export function findUndetected({ paths }: AppFolder): DetectionError | undefined {
  for (const [pattern, found] of undetected) {
    const file = [...paths].find((path) => pattern.test(path))
    if (file !== undefined)
      return notDetected(`${found.title} (${file}) is not built by Fairlead itself.`, found, paths)
  }
  return undefined
}

/** What other tools deploy by. */
const foreign =
  /^(?:(?:docker-)?compose\.ya?ml|fly\.toml|render\.yaml|heroku\.yml|config\/deploy\.yml)$/

export function nothingFound({ paths }: AppFolder): DetectionError {
  const unread = [...paths].filter((path) => foreign.test(path))
  const not = unread.length === 0 ? '' : `; Fairlead does not read ${unread.join(' and ')}`
  const example = { image: 'debian:stable-slim', lines: ['RUN make', 'CMD ["./app"]'] }
  return notDetected(`Nothing in the folder says how it is built${not}.`, example, paths)
}

function notDetected(
  message: string,
  { image, lines }: Omit<Undetected, 'title'>,
  paths: ReadonlySet<string>,
): DetectionError {
  const dockerfile = [`FROM ${image}`, 'WORKDIR /app', 'COPY . .', ...lines, 'EXPOSE 8080']
  const example = [...dockerfile.map((line) => `  ${line}`)].join('\n')
  const other = [...paths].find((path) =>
    /(?:^|\/)(?:Docker|Container)file(?:\.[\w-]+)?$/.test(path),
  )
  if (other !== undefined) {
    const folder = other.includes('/')
      ? `, or, for an app of that folder, build: { from: ${other.slice(0, other.lastIndexOf('/'))} }`
      : ''
    return new DetectionError(
      `${message} Not detected.`,
      `Name ${other} in .fairlead/app.yml: build: { dockerfile: ${other} }${folder}.`,
    )
  }
  return new DetectionError(
    `${message} Not detected.`,
    'Add a Dockerfile, which needs podman or Docker on the machine of Fairlead, such as:\n' +
      `${example}\n` +
      'or, for programs of that machine, commands to .fairlead/app.yml, such as:\n' +
      '  build: { steps: ["make"] }\n' +
      '  services: { web: { command: ./app } }',
  )
}
