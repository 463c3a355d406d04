/** Databases that an app uses, by the packages of their clients. */
import type { AttachmentType } from '../app-file.ts'

/** `sqlite` is a file of the app itself. */
export type DetectedDatabase = AttachmentType | 'sqlite'

const clients: readonly (readonly [DetectedDatabase, ReadonlySet<string>])[] = [
  [
    'postgresql',
    new Set([
      ...[
        'pg',
        'postgres',
        'pg-promise',
        'psycopg',
        'psycopg2',
        'psycopg2-binary',
        'psycopg-binary',
        'asyncpg',
      ],
      ...['github.com/lib/pq', 'github.com/jackc/pgx', 'gorm.io/driver/postgres'],
    ]),
  ],
  [
    'mariadb',
    new Set([
      ...['mysql', 'mysql2', 'mariadb', 'mysqlclient', 'pymysql', 'mysql-connector-python'],
      ...['github.com/go-sql-driver/mysql', 'gorm.io/driver/mysql'],
    ]),
  ],
  [
    'redis',
    new Set([
      ...['redis', 'ioredis', 'bullmq', 'bull', 'connect-redis', 'django-redis', 'rq'],
      ...['github.com/redis/go-redis', 'github.com/gomodule/redigo', 'github.com/go-redis/redis'],
    ]),
  ],
  [
    'sqlite',
    new Set([
      ...['sqlite3', 'better-sqlite3', 'aiosqlite'],
      ...['github.com/mattn/go-sqlite3', 'modernc.org/sqlite', 'gorm.io/driver/sqlite'],
    ]),
  ],
]

/** @param packages Names, those of Go without the version at their end */
export function databasesOf(packages: Iterable<string>): DetectedDatabase[] {
  const names = [...packages]
  const found = clients.flatMap(([type, known]) =>
    names.some((name) => known.has(name)) ? [type] : [],
  )
  // Beside a server it is for development.
  const isOnly = !found.includes('postgresql') && !found.includes('mariadb')
  return found.filter((type) => isOnly || type !== 'sqlite')
}
