/** Finds the screen of an address. */
import { decodePart } from './address.ts'
import type { ScreenRoute } from './screen.ts'

interface FoundScreen {
  readonly route: ScreenRoute
  readonly params: Readonly<Record<string, string>>
}

/** @param path Below the console, encoded, with or without slashes around it. */
export function findScreen(routes: readonly ScreenRoute[], path: string): FoundScreen | undefined {
  const segments = path.split('/').filter((segment) => segment !== '')
  for (const route of routes) {
    const params = match(route.path, segments)
    if (params !== undefined) return { route, params }
  }
  return undefined
}

function match(pattern: string, segments: readonly string[]): Record<string, string> | undefined {
  const parts = pattern.split('/').filter((part) => part !== '')
  if (parts.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const segment = segments[index] as string
    if (!part.startsWith(':')) {
      if (part !== segment) return undefined
      continue
    }
    const value = decodePart(segment)
    if (value === undefined) return undefined
    params[part.slice(1)] = value
  }
  return params
}
