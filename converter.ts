/**
 * The program of the threads that convert OpenAPI documents: that of a large API takes seconds, in which no request could go on.
 * @module
 */
import { serveConversion } from "./src/mcp/openapi/document/conversion_worker.ts";

serveConversion();
