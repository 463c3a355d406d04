/** Databases that an app uses, by the packages of their clients. */
import type { AttachmentType } from '../app-file.ts'

const clients: readonly (readonly [AttachmentType, ReadonlySet<string>])[] = [
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
]

/** @param packages Names, those of Go without the version at their end */
export function databasesOf(packages: Iterable<string>): AttachmentType[] {
  const names = [...packages]
  return clients.flatMap(([type, known]) => (names.some((name) => known.has(name)) ? [type] : []))
}
