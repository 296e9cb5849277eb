export * from "../server/api.ts";
