import { createRequire } from 'node:module'

// For each import between ES modules Node reads the `exports` of their package anew. Those of drizzle-orm have 130 kB,
// which was 0.8 s of CPU in every start. Its CommonJS half loads in 0.1 s. drizzle-orm 1.0 may not need this any more.
const require = createRequire(import.meta.url)
const orm: typeof import('drizzle-orm') = require('drizzle-orm')
const pgCore: typeof import('drizzle-orm/pg-core') = require('drizzle-orm/pg-core')

export const { drizzle }: typeof import('drizzle-orm/node-postgres') = require('drizzle-orm/node-postgres')
export const { readMigrationFiles }: typeof import('drizzle-orm/migrator') = require('drizzle-orm/migrator')
export const { and, asc, count, desc, eq, getTableColumns, gt, inArray } = orm
export const { isNotNull, isNull, lt, lte, ne, notInArray, sql } = orm
export const { bigint, boolean, check, customType, date, doublePrecision, foreignKey, index, integer, json } = pgCore
export const { jsonb, numeric, pgTable, primaryKey, smallint, text, timestamp, unique, uuid } = pgCore

export type { SQL } from 'drizzle-orm'
export type { MigrationMeta } from 'drizzle-orm/migrator'
export type { NodePgDatabase } from 'drizzle-orm/node-postgres'
export type { AnyPgColumn, PgUpdateSetSource } from 'drizzle-orm/pg-core'
