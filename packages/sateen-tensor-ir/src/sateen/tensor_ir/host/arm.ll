%struct.pool = type { i32, [124 x i8], i32, i32, [120 x i8], [510 x %struct.slot] }
%struct.slot = type { i32, i32, ptr, ptr, i64, i64, i32, i32, [88 x i8] }
%struct.sateen_host = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i32 }
%struct.iovec = type { ptr, i32 }

@.str = private unnamed_addr constant [15 x i8] c"/sys/fs/cgroup\00", align 1
@sateen_cgroup_mount = hidden local_unnamed_addr global ptr @.str, align 4
@.str.1 = private unnamed_addr constant [18 x i8] c"/proc/self/cgroup\00", align 1
@sateen_cgroup_membership = hidden local_unnamed_addr global ptr @.str.1, align 4
@sateen_pool_spins = hidden local_unnamed_addr global i32 4000, align 4
@sateen_pool = internal global %struct.pool zeroinitializer, align 65536
@stop_entry = internal global ptr @sateen_pool_stop, section ".fini_array", align 4
@sateen_table = internal constant %struct.sateen_host { i32 2, i32 0, ptr @sateen_pool, ptr @parallel_for, ptr @allocate, ptr @release, ptr @log_line, ptr null, i32 0 }, align 4
@.str.2 = private unnamed_addr constant [1 x i8] zeroinitializer, align 1
@.str.3 = private unnamed_addr constant [2 x i8] c"\0A\00", align 1
@.str.4 = private unnamed_addr constant [3 x i8] c":\0A\00", align 1
@.str.5 = private unnamed_addr constant [4 x i8] c",:\0A\00", align 1
@.str.6 = private unnamed_addr constant [4 x i8] c"cpu\00", align 1
@.str.7 = private unnamed_addr constant [5 x i8] c"/cpu\00", align 1
@.str.8 = private unnamed_addr constant [18 x i8] c"/cpu.cfs_quota_us\00", align 1
@.str.9 = private unnamed_addr constant [9 x i8] c"/cpu.max\00", align 1
@.str.10 = private unnamed_addr constant [11 x i8] c"%s%s%.*s%s\00", align 1
@.str.11 = private unnamed_addr constant [19 x i8] c"/cpu.cfs_period_us\00", align 1
@.str.12 = private unnamed_addr constant [9 x i8] c"sateen: \00", align 1
@llvm.compiler.used = appending global [1 x ptr] [ptr @stop_entry], section "llvm.metadata"

; Function Attrs: nounwind
define void @sateen_pool_stop() #0 {
  %1 = cmpxchg ptr @sateen_pool, i32 0, i32 1 acquire monotonic, align 4
  %2 = extractvalue { i32, i1 } %1, 1
  br i1 %2, label %3, label %22

3:                                                ; preds = %0
  %4 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 2) monotonic, align 128
  %5 = icmp ugt i32 %4, 1
  br i1 %5, label %6, label %22

6:                                                ; preds = %3, %16
  %7 = phi i32 [ %20, %16 ], [ 1, %3 ]
  %8 = add i32 %7, -1
  %9 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %8
  %10 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %8, i32 2
  store ptr null, ptr %10, align 8
  %11 = atomicrmw xchg ptr %9, i32 2 acq_rel, align 4
  %12 = and i32 %11, 1
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %16, label %14

14:                                               ; preds = %6
  %15 = tail call i32 (i32, ...) @syscall(i32 noundef 240, ptr noundef nonnull %9, i32 noundef 129, i32 noundef 1) #8
  br label %16

16:                                               ; preds = %6, %14
  %17 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %8, i32 6
  %18 = load i32, ptr %17, align 32
  %19 = tail call i32 @pthread_join(i32 noundef %18, ptr noundef null) #8
  %20 = add nuw i32 %7, 1
  %21 = icmp eq i32 %20, %4
  br i1 %21, label %22, label %6

22:                                               ; preds = %16, %3, %0
  ret void
}

declare i32 @pthread_join(i32 noundef, ptr noundef) local_unnamed_addr #1

; Function Attrs: mustprogress nofree norecurse nosync nounwind readnone willreturn
define i32 @sateen_abi_version() local_unnamed_addr #2 {
  ret i32 2
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind readnone willreturn
define nonnull ptr @sateen_default_host() local_unnamed_addr #2 {
  ret ptr @sateen_table
}

declare i32 @syscall(i32 noundef, ...) local_unnamed_addr #1

; Function Attrs: nounwind
define internal i32 @parallel_for(ptr nocapture noundef readonly %0, ptr noundef %1, ptr noundef %2, i64 noundef %3) #0 {
  %5 = alloca [8192 x i8], align 1
  %6 = alloca i64, align 8
  %7 = alloca [16384 x i8], align 1
  %8 = alloca [16 x i64], align 8
  %9 = alloca [16 x i64], align 8
  %10 = alloca [64 x i64], align 8
  %11 = icmp slt i64 %3, 1
  br i1 %11, label %251, label %12

12:                                               ; preds = %4
  %13 = getelementptr inbounds %struct.sateen_host, ptr %0, i32 0, i32 1
  %14 = load i32, ptr %13, align 4
  %15 = icmp eq i32 %14, 1
  %16 = icmp eq i64 %3, 1
  %17 = or i1 %16, %15
  br i1 %17, label %18, label %20

18:                                               ; preds = %12
  %19 = tail call i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %3) #8
  br label %251

20:                                               ; preds = %12
  %21 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 2) monotonic, align 128
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %23, label %25

23:                                               ; preds = %20
  %24 = tail call i32 @madvise(ptr noundef nonnull @sateen_pool, i32 noundef 65536, i32 noundef 18) #8
  br label %25

25:                                               ; preds = %23, %20
  %26 = cmpxchg ptr @sateen_pool, i32 0, i32 1 acquire monotonic, align 4
  %27 = extractvalue { i32, i1 } %26, 1
  br i1 %27, label %30, label %28

28:                                               ; preds = %25
  %29 = tail call i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %3) #8
  br label %251

30:                                               ; preds = %25
  %31 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 2) monotonic, align 128
  %32 = icmp eq i32 %31, 0
  br i1 %32, label %33, label %147

33:                                               ; preds = %30
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %8)
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %9)
  call void @llvm.lifetime.start.p0(i64 512, ptr nonnull %10)
  %34 = load i32, ptr @sateen_pool_spins, align 4
  store atomic i32 %34, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 3) monotonic, align 4
  call void @llvm.memset.p0.i32(ptr noundef nonnull align 8 dereferenceable(512) %10, i8 0, i32 512, i1 false)
  %35 = call i32 @sched_getaffinity(i32 noundef 0, i32 noundef 512, ptr noundef nonnull %10) #8
  %36 = icmp eq i32 %35, 0
  br i1 %36, label %37, label %47

37:                                               ; preds = %33, %37
  %38 = phi i32 [ %45, %37 ], [ 0, %33 ]
  %39 = phi i32 [ %44, %37 ], [ 0, %33 ]
  %40 = getelementptr inbounds i64, ptr %10, i32 %38
  %41 = load i64, ptr %40, align 8
  %42 = call i64 @llvm.ctpop.i64(i64 %41)
  %43 = trunc i64 %42 to i32
  %44 = add i32 %39, %43
  %45 = add nuw nsw i32 %38, 1
  %46 = icmp eq i32 %45, 64
  br i1 %46, label %47, label %37

47:                                               ; preds = %37, %33
  %48 = phi i32 [ 1, %33 ], [ %44, %37 ]
  %49 = call i32 @madvise(ptr noundef nonnull @sateen_pool, i32 noundef 65536, i32 noundef 18) #8
  %50 = icmp eq i32 %49, 0
  br i1 %50, label %51, label %130

51:                                               ; preds = %47
  %52 = call i32 @llvm.umin.i32(i32 %48, i32 511)
  call void @llvm.lifetime.start.p0(i64 16384, ptr nonnull %7)
  %53 = call fastcc i32 @least_quota(i32 noundef 1, ptr noundef nonnull @.str.2, i32 noundef 0, i32 noundef %52) #9
  call void @llvm.lifetime.start.p0(i64 8192, ptr nonnull %5)
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %6)
  %54 = load ptr, ptr @sateen_cgroup_mount, align 4
  %55 = call i32 (ptr, i32, ptr, ...) @snprintf(ptr noundef nonnull %5, i32 noundef 8192, ptr noundef nonnull @.str.10, ptr noundef %54, ptr noundef nonnull @.str.2, i32 noundef 0, ptr noundef nonnull @.str.2, ptr noundef nonnull @.str.9) #8
  %56 = call fastcc i64 @numbers_in_file(ptr noundef nonnull %5, ptr noundef nonnull %6) #9
  %57 = load i64, ptr %6, align 8
  %58 = icmp sgt i64 %56, 0
  %59 = icmp sgt i64 %57, 0
  %60 = select i1 %58, i1 %59, i1 false
  br i1 %60, label %61, label %69

61:                                               ; preds = %51
  %62 = add nsw i64 %56, -1
  %63 = udiv i64 %62, %57
  %64 = add nuw nsw i64 %63, 1
  %65 = zext i32 %53 to i64
  %66 = icmp ult i64 %64, %65
  %67 = trunc i64 %64 to i32
  %68 = select i1 %66, i32 %67, i32 %53
  br label %69

69:                                               ; preds = %61, %51
  %70 = phi i32 [ %53, %51 ], [ %68, %61 ]
  call void @llvm.lifetime.end.p0(i64 8192, ptr nonnull %5)
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %6)
  %71 = load ptr, ptr @sateen_cgroup_membership, align 4
  store i8 0, ptr %7, align 1
  %72 = call i32 (ptr, i32, ...) @open(ptr noundef %71, i32 noundef 524288) #8
  %73 = icmp slt i32 %72, 0
  br i1 %73, label %83, label %74

74:                                               ; preds = %69, %74
  %75 = phi i32 [ %80, %74 ], [ 0, %69 ]
  %76 = getelementptr inbounds i8, ptr %7, i32 %75
  %77 = sub i32 16383, %75
  %78 = call i32 @read(i32 noundef %72, ptr noundef nonnull %76, i32 noundef %77) #8
  %79 = icmp sgt i32 %78, 0
  %80 = add i32 %78, %75
  br i1 %79, label %74, label %81

81:                                               ; preds = %74
  store i8 0, ptr %76, align 1
  %82 = call i32 @close(i32 noundef %72) #8
  br label %83

83:                                               ; preds = %81, %69
  %84 = call i32 @strcspn(ptr noundef nonnull %7, ptr noundef nonnull @.str.3) #8
  %85 = icmp eq i32 %84, 0
  br i1 %85, label %128, label %86

86:                                               ; preds = %83, %120
  %87 = phi i32 [ %126, %120 ], [ %84, %83 ]
  %88 = phi i32 [ %121, %120 ], [ %70, %83 ]
  %89 = phi ptr [ %125, %120 ], [ %7, %83 ]
  %90 = getelementptr inbounds i8, ptr %89, i32 %87
  %91 = call i32 @strcspn(ptr noundef nonnull %89, ptr noundef nonnull @.str.4) #8
  %92 = getelementptr inbounds i8, ptr %89, i32 %91
  br label %93

93:                                               ; preds = %106, %86
  %94 = phi ptr [ %92, %86 ], [ %97, %106 ]
  %95 = getelementptr inbounds i8, ptr %94, i32 1
  %96 = call i32 @strcspn(ptr noundef nonnull %95, ptr noundef nonnull @.str.5) #8
  %97 = getelementptr inbounds i8, ptr %95, i32 %96
  %98 = icmp eq i32 %96, 3
  br i1 %98, label %99, label %102

99:                                               ; preds = %93
  %100 = call i32 @strncmp(ptr noundef nonnull %95, ptr noundef nonnull @.str.6, i32 noundef 3) #8
  %101 = icmp eq i32 %100, 0
  br label %102

102:                                              ; preds = %99, %93
  %103 = phi i1 [ false, %93 ], [ %101, %99 ]
  %104 = icmp eq i32 %96, 0
  %105 = select i1 %103, i1 true, i1 %104
  br i1 %105, label %109, label %106

106:                                              ; preds = %102
  %107 = load i8, ptr %97, align 1
  %108 = icmp eq i8 %107, 44
  br i1 %108, label %93, label %120

109:                                              ; preds = %102
  %110 = call i32 @strcspn(ptr noundef nonnull %97, ptr noundef nonnull @.str.4) #8
  %111 = getelementptr i8, ptr %97, i32 1
  %112 = getelementptr i8, ptr %111, i32 %110
  %113 = icmp ugt ptr %90, %112
  br i1 %113, label %114, label %120

114:                                              ; preds = %109
  %115 = zext i1 %103 to i32
  %116 = ptrtoint ptr %90 to i32
  %117 = ptrtoint ptr %112 to i32
  %118 = sub i32 %116, %117
  %119 = call fastcc i32 @least_quota(i32 noundef %115, ptr noundef %112, i32 noundef %118, i32 noundef %88) #9
  br label %120

120:                                              ; preds = %106, %114, %109
  %121 = phi i32 [ %119, %114 ], [ %88, %109 ], [ %88, %106 ]
  %122 = load i8, ptr %90, align 1
  %123 = icmp ne i8 %122, 0
  %124 = zext i1 %123 to i32
  %125 = getelementptr inbounds i8, ptr %90, i32 %124
  %126 = call i32 @strcspn(ptr noundef nonnull %125, ptr noundef nonnull @.str.3) #8
  %127 = icmp eq i32 %126, 0
  br i1 %127, label %128, label %86

128:                                              ; preds = %120, %83
  %129 = phi i32 [ %70, %83 ], [ %121, %120 ]
  call void @llvm.lifetime.end.p0(i64 16384, ptr nonnull %7)
  br label %130

130:                                              ; preds = %128, %47
  %131 = phi i32 [ %129, %128 ], [ 1, %47 ]
  call void @llvm.memset.p0.i32(ptr noundef nonnull align 8 dereferenceable(128) %8, i8 -1, i32 128, i1 false)
  %132 = call i32 @pthread_sigmask(i32 noundef 2, ptr noundef nonnull %8, ptr noundef nonnull %9) #8
  %133 = icmp ugt i32 %131, 1
  br i1 %133, label %134, label %144

134:                                              ; preds = %130, %141
  %135 = phi i32 [ %142, %141 ], [ 1, %130 ]
  %136 = add i32 %135, -1
  %137 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %136
  %138 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %136, i32 6
  %139 = call i32 @pthread_create(ptr noundef nonnull %138, ptr noundef null, ptr noundef nonnull @work, ptr noundef nonnull %137) #8
  %140 = icmp eq i32 %139, 0
  br i1 %140, label %141, label %144

141:                                              ; preds = %134
  %142 = add nuw i32 %135, 1
  %143 = icmp eq i32 %142, %131
  br i1 %143, label %144, label %134

144:                                              ; preds = %134, %141, %130
  %145 = phi i32 [ 1, %130 ], [ %131, %141 ], [ %135, %134 ]
  %146 = call i32 @pthread_sigmask(i32 noundef 2, ptr noundef nonnull %9, ptr noundef null) #8
  store atomic i32 %145, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 2) monotonic, align 128
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %8)
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %9)
  call void @llvm.lifetime.end.p0(i64 512, ptr nonnull %10)
  br label %147

147:                                              ; preds = %144, %30
  %148 = phi i32 [ %145, %144 ], [ %31, %30 ]
  %149 = load i32, ptr %13, align 4
  %150 = icmp sgt i32 %149, 0
  %151 = icmp ugt i32 %148, %149
  %152 = select i1 %150, i1 %151, i1 false
  %153 = select i1 %152, i32 %149, i32 %148
  %154 = zext i32 %153 to i64
  %155 = call i64 @llvm.umin.i64(i64 %154, i64 %3)
  %156 = freeze i64 %155
  %157 = udiv i64 %3, %156
  %158 = mul i64 %157, %156
  %159 = sub i64 %3, %158
  %160 = icmp ne i64 %159, 0
  %161 = zext i1 %160 to i64
  %162 = add nsw i64 %157, %161
  %163 = icmp ugt i64 %155, 1
  br i1 %163, label %166, label %164

164:                                              ; preds = %147
  %165 = call i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %162) #8
  br label %249

166:                                              ; preds = %147, %189
  %167 = phi i64 [ %175, %189 ], [ %162, %147 ]
  %168 = phi i64 [ %190, %189 ], [ 1, %147 ]
  %169 = trunc i64 %168 to i32
  %170 = add i32 %169, -1
  %171 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %170
  %172 = add nsw i64 %167, %157
  %173 = icmp ult i64 %168, %159
  %174 = zext i1 %173 to i64
  %175 = add nsw i64 %172, %174
  %176 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %170, i32 2
  store ptr %1, ptr %176, align 8
  %177 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %170, i32 3
  store ptr %2, ptr %177, align 4
  %178 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %170, i32 4
  store i64 %167, ptr %178, align 16
  %179 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %170, i32 5
  store i64 %175, ptr %179, align 8
  %180 = load atomic i32, ptr %171 monotonic, align 128
  %181 = icmp eq i32 %180, 1
  br i1 %181, label %182, label %183

182:                                              ; preds = %166
  call fastcc void @adapt(ptr noundef nonnull %171) #9
  br label %183

183:                                              ; preds = %182, %166
  %184 = atomicrmw xchg ptr %171, i32 2 acq_rel, align 4
  %185 = and i32 %184, 1
  %186 = icmp eq i32 %185, 0
  br i1 %186, label %189, label %187

187:                                              ; preds = %183
  %188 = call i32 (i32, ...) @syscall(i32 noundef 240, ptr noundef nonnull %171, i32 noundef 129, i32 noundef 1) #8
  br label %189

189:                                              ; preds = %183, %187
  %190 = add nuw nsw i64 %168, 1
  %191 = icmp ult i64 %190, %155
  br i1 %191, label %166, label %192

192:                                              ; preds = %189
  %193 = call i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %162) #8
  br i1 %163, label %195, label %249

194:                                              ; preds = %213
  br i1 %163, label %216, label %249

195:                                              ; preds = %192, %213
  %196 = phi i64 [ %214, %213 ], [ 1, %192 ]
  %197 = trunc i64 %196 to i32
  %198 = add i32 %197, -1
  %199 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %198
  %200 = cmpxchg ptr %199, i32 2, i32 0 acquire monotonic, align 4
  %201 = extractvalue { i32, i1 } %200, 1
  br i1 %201, label %202, label %213

202:                                              ; preds = %195
  %203 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %198, i32 2
  %204 = load ptr, ptr %203, align 8
  %205 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %198, i32 3
  %206 = load ptr, ptr %205, align 4
  %207 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %198, i32 4
  %208 = load i64, ptr %207, align 16
  %209 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %198, i32 5
  %210 = load i64, ptr %209, align 8
  %211 = call i32 %204(ptr noundef %206, i64 noundef %208, i64 noundef %210) #8
  %212 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %198, i32 1
  store i32 %211, ptr %212, align 4
  br label %213

213:                                              ; preds = %195, %202
  %214 = add nuw nsw i64 %196, 1
  %215 = icmp ult i64 %214, %155
  br i1 %215, label %195, label %194

216:                                              ; preds = %194, %245
  %217 = phi i64 [ %247, %245 ], [ 1, %194 ]
  %218 = phi i32 [ %246, %245 ], [ %193, %194 ]
  %219 = trunc i64 %217 to i32
  %220 = add i32 %219, -1
  %221 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %220
  %222 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 3) monotonic, align 4
  %223 = load atomic i32, ptr %221 acquire, align 128
  %224 = icmp eq i32 %223, 4
  br i1 %224, label %225, label %240

225:                                              ; preds = %216, %228
  %226 = phi i32 [ %229, %228 ], [ %222, %216 ]
  %227 = icmp eq i32 %226, 0
  br i1 %227, label %232, label %228

228:                                              ; preds = %225
  call void @llvm.arm.hint(i32 1)
  %229 = add i32 %226, -1
  %230 = load atomic i32, ptr %221 acquire, align 128
  %231 = icmp eq i32 %230, 4
  br i1 %231, label %225, label %240

232:                                              ; preds = %225
  %233 = cmpxchg ptr %221, i32 4, i32 5 acq_rel acquire, align 4
  %234 = extractvalue { i32, i1 } %233, 1
  br i1 %234, label %235, label %240

235:                                              ; preds = %232, %235
  %236 = call i32 (i32, ...) @syscall(i32 noundef 240, ptr noundef nonnull %221, i32 noundef 128, i32 noundef 5, ptr noundef null) #8
  %237 = load atomic i32, ptr %221 acquire, align 128
  %238 = icmp eq i32 %237, 5
  br i1 %238, label %235, label %239

239:                                              ; preds = %235
  call fastcc void @adapt(ptr noundef nonnull %221) #9
  br label %240

240:                                              ; preds = %228, %216, %232, %239
  %241 = icmp eq i32 %218, 0
  br i1 %241, label %242, label %245

242:                                              ; preds = %240
  %243 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i32 0, i32 5, i32 %220, i32 1
  %244 = load i32, ptr %243, align 4
  br label %245

245:                                              ; preds = %240, %242
  %246 = phi i32 [ %244, %242 ], [ %218, %240 ]
  %247 = add nuw nsw i64 %217, 1
  %248 = icmp ult i64 %247, %155
  br i1 %248, label %216, label %249

249:                                              ; preds = %245, %192, %164, %194
  %250 = phi i32 [ %193, %194 ], [ %193, %192 ], [ %165, %164 ], [ %246, %245 ]
  store atomic i32 0, ptr @sateen_pool release, align 65536
  br label %251

251:                                              ; preds = %4, %249, %28, %18
  %252 = phi i32 [ %19, %18 ], [ %250, %249 ], [ %29, %28 ], [ 0, %4 ]
  ret i32 %252
}

; Function Attrs: nounwind
define internal ptr @allocate(ptr nocapture readnone %0, i64 noundef %1, i64 noundef %2) #0 {
  %4 = alloca ptr, align 4
  %5 = icmp ugt i64 %1, 4294967295
  br i1 %5, label %14, label %6

6:                                                ; preds = %3
  %7 = tail call i64 @llvm.umax.i64(i64 %2, i64 4)
  %8 = trunc i64 %7 to i32
  %9 = trunc i64 %1 to i32
  %10 = call i32 @posix_memalign(ptr noundef nonnull %4, i32 noundef %8, i32 noundef %9) #8
  %11 = icmp eq i32 %10, 0
  %12 = load ptr, ptr %4, align 4
  %13 = select i1 %11, ptr %12, ptr null
  br label %14

14:                                               ; preds = %3, %6
  %15 = phi ptr [ %13, %6 ], [ null, %3 ]
  ret ptr %15
}

; Function Attrs: nounwind
define internal void @release(ptr nocapture readnone %0, ptr noundef %1) #0 {
  tail call void @free(ptr noundef %1) #8
  ret void
}

; Function Attrs: nounwind
define internal void @log_line(ptr nocapture readnone %0, i32 %1, ptr noundef %2) #0 {
  %4 = alloca [3 x %struct.iovec], align 4
  store ptr @.str.12, ptr %4, align 4
  %5 = getelementptr inbounds %struct.iovec, ptr %4, i32 0, i32 1
  store i32 8, ptr %5, align 4
  %6 = getelementptr inbounds %struct.iovec, ptr %4, i32 1
  store ptr %2, ptr %6, align 4
  %7 = getelementptr inbounds %struct.iovec, ptr %4, i32 1, i32 1
  %8 = tail call i32 @strlen(ptr noundef %2) #8
  store i32 %8, ptr %7, align 4
  %9 = getelementptr inbounds %struct.iovec, ptr %4, i32 2
  store ptr @.str.3, ptr %9, align 4
  %10 = getelementptr inbounds %struct.iovec, ptr %4, i32 2, i32 1
  store i32 1, ptr %10, align 4
  %11 = call i32 @writev(i32 noundef 2, ptr noundef nonnull %4, i32 noundef 3) #8
  ret void
}

; Function Attrs: nounwind
define internal fastcc void @adapt(ptr nocapture noundef %0) unnamed_addr #0 {
  %2 = alloca [64 x i64], align 8
  %3 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 2) monotonic, align 128
  call void @llvm.memset.p0.i32(ptr noundef nonnull align 8 dereferenceable(512) %2, i8 0, i32 512, i1 false)
  %4 = call i32 @sched_getaffinity(i32 noundef 0, i32 noundef 512, ptr noundef nonnull %2) #8
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %6, label %16

6:                                                ; preds = %1, %6
  %7 = phi i32 [ %14, %6 ], [ 0, %1 ]
  %8 = phi i32 [ %13, %6 ], [ 0, %1 ]
  %9 = getelementptr inbounds i64, ptr %2, i32 %7
  %10 = load i64, ptr %9, align 8
  %11 = call i64 @llvm.ctpop.i64(i64 %10)
  %12 = trunc i64 %11 to i32
  %13 = add i32 %8, %12
  %14 = add nuw nsw i32 %7, 1
  %15 = icmp eq i32 %14, 64
  br i1 %15, label %16, label %6

16:                                               ; preds = %6, %1
  %17 = phi i32 [ 1, %1 ], [ %13, %6 ]
  %18 = icmp ult i32 %17, %3
  %19 = load i32, ptr @sateen_pool_spins, align 4
  %20 = select i1 %18, i32 0, i32 %19
  store atomic i32 %20, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 3) monotonic, align 4
  %21 = call i32 @sched_getcpu() #8
  %22 = getelementptr inbounds %struct.slot, ptr %0, i32 0, i32 7
  %23 = load i32, ptr %22, align 4
  %24 = add nsw i32 %21, 1
  %25 = icmp eq i32 %23, %24
  br i1 %25, label %39, label %26

26:                                               ; preds = %16
  %27 = and i32 %21, 63
  %28 = zext i32 %27 to i64
  %29 = shl nuw i64 1, %28
  %30 = xor i64 %29, -1
  %31 = lshr i32 %21, 6
  %32 = and i32 %31, 63
  %33 = getelementptr inbounds [64 x i64], ptr %2, i32 0, i32 %32
  %34 = load i64, ptr %33, align 8
  %35 = and i64 %34, %30
  store i64 %35, ptr %33, align 8
  %36 = getelementptr inbounds %struct.slot, ptr %0, i32 0, i32 6
  %37 = load i32, ptr %36, align 32
  %38 = call i32 @pthread_setaffinity_np(i32 noundef %37, i32 noundef 512, ptr noundef nonnull %2) #8
  store i32 %24, ptr %22, align 4
  br label %39

39:                                               ; preds = %16, %26
  ret void
}

declare i32 @madvise(ptr noundef, i32 noundef, i32 noundef) local_unnamed_addr #1

; Function Attrs: argmemonly mustprogress nocallback nofree nounwind willreturn writeonly
declare void @llvm.memset.p0.i32(ptr nocapture writeonly, i8, i32, i1 immarg) #3

declare i32 @pthread_sigmask(i32 noundef, ptr noundef, ptr noundef) local_unnamed_addr #1

declare i32 @pthread_create(ptr noundef, ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #1

; Function Attrs: nounwind
define internal ptr @work(ptr noundef %0) #0 {
  %2 = getelementptr inbounds %struct.slot, ptr %0, i32 0, i32 2
  %3 = getelementptr inbounds %struct.slot, ptr %0, i32 0, i32 3
  %4 = getelementptr inbounds %struct.slot, ptr %0, i32 0, i32 4
  %5 = getelementptr inbounds %struct.slot, ptr %0, i32 0, i32 5
  %6 = getelementptr inbounds %struct.slot, ptr %0, i32 0, i32 1
  br label %7

7:                                                ; preds = %42, %1
  %8 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i32 0, i32 3) monotonic, align 4
  %9 = load atomic i32, ptr %0 acquire, align 4
  %10 = icmp eq i32 %9, 0
  br i1 %10, label %11, label %25

11:                                               ; preds = %7, %14
  %12 = phi i32 [ %15, %14 ], [ %8, %7 ]
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %18, label %14

14:                                               ; preds = %11
  tail call void @llvm.arm.hint(i32 1)
  %15 = add i32 %12, -1
  %16 = load atomic i32, ptr %0 acquire, align 4
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %11, label %25

18:                                               ; preds = %11
  %19 = cmpxchg ptr %0, i32 0, i32 1 acq_rel acquire, align 4
  %20 = extractvalue { i32, i1 } %19, 1
  br i1 %20, label %21, label %25

21:                                               ; preds = %18, %21
  %22 = tail call i32 (i32, ...) @syscall(i32 noundef 240, ptr noundef nonnull %0, i32 noundef 128, i32 noundef 1, ptr noundef null) #8
  %23 = load atomic i32, ptr %0 acquire, align 4
  %24 = icmp eq i32 %23, 1
  br i1 %24, label %21, label %25

25:                                               ; preds = %14, %21, %7, %18
  %26 = cmpxchg ptr %0, i32 2, i32 4 acquire monotonic, align 4
  %27 = extractvalue { i32, i1 } %26, 1
  br i1 %27, label %28, label %42

28:                                               ; preds = %25
  %29 = load ptr, ptr %2, align 8
  %30 = icmp eq ptr %29, null
  br i1 %30, label %31, label %32

31:                                               ; preds = %28
  ret ptr null

32:                                               ; preds = %28
  %33 = load ptr, ptr %3, align 4
  %34 = load i64, ptr %4, align 16
  %35 = load i64, ptr %5, align 8
  %36 = tail call i32 %29(ptr noundef %33, i64 noundef %34, i64 noundef %35) #8
  store i32 %36, ptr %6, align 4
  %37 = atomicrmw xchg ptr %0, i32 0 acq_rel, align 4
  %38 = and i32 %37, 1
  %39 = icmp eq i32 %38, 0
  br i1 %39, label %42, label %40

40:                                               ; preds = %32
  %41 = tail call i32 (i32, ...) @syscall(i32 noundef 240, ptr noundef nonnull %0, i32 noundef 129, i32 noundef 1) #8
  br label %42

42:                                               ; preds = %40, %32, %25
  br label %7
}

declare i32 @sched_getaffinity(i32 noundef, i32 noundef, ptr noundef) local_unnamed_addr #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.ctpop.i64(i64) #4

; Function Attrs: nounwind
define internal fastcc i32 @least_quota(i32 noundef %0, ptr noundef %1, i32 noundef %2, i32 noundef %3) unnamed_addr #0 {
  %5 = alloca [8192 x i8], align 1
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = icmp eq i32 %0, 0
  %9 = select i1 %8, ptr @.str.2, ptr @.str.7
  %10 = select i1 %8, ptr @.str.9, ptr @.str.8
  br label %12

11:                                               ; preds = %41, %45
  br label %12

12:                                               ; preds = %11, %4
  %13 = phi i32 [ %3, %4 ], [ %38, %11 ]
  %14 = phi i32 [ %2, %4 ], [ %43, %11 ]
  %15 = load ptr, ptr @sateen_cgroup_mount, align 4
  %16 = call i32 (ptr, i32, ptr, ...) @snprintf(ptr noundef nonnull %5, i32 noundef 8192, ptr noundef nonnull @.str.10, ptr noundef %15, ptr noundef nonnull %9, i32 noundef %14, ptr noundef %1, ptr noundef nonnull %10) #8
  %17 = call fastcc i64 @numbers_in_file(ptr noundef nonnull %5, ptr noundef nonnull %6) #9
  br i1 %8, label %18, label %20

18:                                               ; preds = %12
  %19 = load i64, ptr %6, align 8
  br label %24

20:                                               ; preds = %12
  %21 = load ptr, ptr @sateen_cgroup_mount, align 4
  %22 = call i32 (ptr, i32, ptr, ...) @snprintf(ptr noundef nonnull %5, i32 noundef 8192, ptr noundef nonnull @.str.10, ptr noundef %21, ptr noundef nonnull %9, i32 noundef %14, ptr noundef %1, ptr noundef nonnull @.str.11) #8
  %23 = call fastcc i64 @numbers_in_file(ptr noundef nonnull %5, ptr noundef nonnull %7) #9
  store i64 %23, ptr %6, align 8
  br label %24

24:                                               ; preds = %18, %20
  %25 = phi i64 [ %19, %18 ], [ %23, %20 ]
  %26 = icmp sgt i64 %17, 0
  %27 = icmp sgt i64 %25, 0
  %28 = select i1 %26, i1 %27, i1 false
  br i1 %28, label %29, label %37

29:                                               ; preds = %24
  %30 = add nsw i64 %17, -1
  %31 = udiv i64 %30, %25
  %32 = add nuw nsw i64 %31, 1
  %33 = zext i32 %13 to i64
  %34 = icmp ult i64 %32, %33
  %35 = trunc i64 %32 to i32
  %36 = select i1 %34, i32 %35, i32 %13
  br label %37

37:                                               ; preds = %29, %24
  %38 = phi i32 [ %13, %24 ], [ %36, %29 ]
  %39 = icmp eq i32 %14, 0
  br i1 %39, label %40, label %41

40:                                               ; preds = %37
  ret i32 %38

41:                                               ; preds = %37, %45
  %42 = phi i32 [ %43, %45 ], [ %14, %37 ]
  %43 = add nsw i32 %42, -1
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %11, label %45

45:                                               ; preds = %41
  %46 = getelementptr inbounds i8, ptr %1, i32 %43
  %47 = load i8, ptr %46, align 1
  %48 = icmp eq i8 %47, 47
  br i1 %48, label %11, label %41
}

declare i32 @strcspn(ptr noundef, ptr noundef) local_unnamed_addr #1

declare i32 @strncmp(ptr noundef, ptr noundef, i32 noundef) local_unnamed_addr #1

declare i32 @snprintf(ptr noundef, i32 noundef, ptr noundef, ...) local_unnamed_addr #1

; Function Attrs: nounwind
define internal fastcc i64 @numbers_in_file(ptr noundef %0, ptr nocapture noundef writeonly %1) unnamed_addr #0 {
  %3 = alloca [64 x i8], align 1
  %4 = alloca ptr, align 4
  store i8 0, ptr %3, align 1
  %5 = tail call i32 (ptr, i32, ...) @open(ptr noundef %0, i32 noundef 524288) #8
  %6 = icmp slt i32 %5, 0
  br i1 %6, label %16, label %7

7:                                                ; preds = %2, %7
  %8 = phi i32 [ %13, %7 ], [ 0, %2 ]
  %9 = getelementptr inbounds i8, ptr %3, i32 %8
  %10 = sub i32 63, %8
  %11 = call i32 @read(i32 noundef %5, ptr noundef nonnull %9, i32 noundef %10) #8
  %12 = icmp sgt i32 %11, 0
  %13 = add i32 %11, %8
  br i1 %12, label %7, label %14

14:                                               ; preds = %7
  store i8 0, ptr %9, align 1
  %15 = call i32 @close(i32 noundef %5) #8
  br label %16

16:                                               ; preds = %2, %14
  %17 = call i32 @strtol(ptr noundef nonnull %3, ptr noundef nonnull %4, i32 noundef 10) #8
  %18 = sext i32 %17 to i64
  %19 = load ptr, ptr %4, align 4
  %20 = call i32 @strtol(ptr noundef %19, ptr noundef null, i32 noundef 10) #8
  %21 = sext i32 %20 to i64
  store i64 %21, ptr %1, align 8
  ret i64 %18
}

declare i32 @strtol(ptr noundef, ptr noundef, i32 noundef) local_unnamed_addr #1

declare i32 @open(ptr noundef, i32 noundef, ...) local_unnamed_addr #1

declare i32 @read(i32 noundef, ptr noundef, i32 noundef) local_unnamed_addr #1

declare i32 @close(i32 noundef) local_unnamed_addr #1

declare i32 @sched_getcpu() local_unnamed_addr #1

declare i32 @pthread_setaffinity_np(i32 noundef, i32 noundef, ptr noundef) local_unnamed_addr #1

; Function Attrs: nounwind
declare void @llvm.arm.hint(i32) #5

declare i32 @posix_memalign(ptr noundef, i32 noundef, i32 noundef) local_unnamed_addr #1

declare void @free(ptr noundef) local_unnamed_addr #1

declare i32 @strlen(ptr noundef) local_unnamed_addr #1

declare i32 @writev(i32 noundef, ptr noundef, i32 noundef) local_unnamed_addr #1

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.umin.i64(i64, i64) #6

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.umax.i64(i64, i64) #6

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i32 @llvm.umin.i32(i32, i32) #6

; Function Attrs: argmemonly nocallback nofree nosync nounwind willreturn
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #7

; Function Attrs: argmemonly nocallback nofree nosync nounwind willreturn
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #7

attributes #0 = { nounwind "no-builtins" "no-trapping-math"="true" }
attributes #1 = { "no-builtins" "no-trapping-math"="true" }
attributes #2 = { mustprogress nofree norecurse nosync nounwind readnone willreturn "no-builtins" "no-trapping-math"="true" }
attributes #3 = { argmemonly mustprogress nocallback nofree nounwind willreturn writeonly }
attributes #4 = { mustprogress nocallback nofree nosync nounwind readnone speculatable willreturn }
attributes #5 = { nounwind }
attributes #6 = { nocallback nofree nosync nounwind readnone speculatable willreturn }
attributes #7 = { argmemonly nocallback nofree nosync nounwind willreturn }
attributes #8 = { nobuiltin nounwind "no-builtins" }
attributes #9 = { nobuiltin "no-builtins" }
